// Under which name does a host get the credentials of a registry (containers.md#registry)?

/** The name of a registry's credentials among the secrets of a task, which no spec can use. */
export const REGISTRY_SECRET = "drover.registry";
