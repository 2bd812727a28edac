/** The image that a private podman has: busybox in all its names, with users `root` and `task` (1000). */
export const BUSYBOX = "localhost/drover/busybox:latest";
