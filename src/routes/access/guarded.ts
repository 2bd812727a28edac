// How does every call to an object wait for a check?

/** The same interface, whose methods first wait for `check`, and fail as it does. */
export function guarded<Api extends object>(api: Api, check: () => Promise<void>): Api {
  return new Proxy(api, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...args: unknown[]) => {
        await check();
        return Reflect.apply(method, target, args);
      };
    },
  });
}
