// Which fakes of clouds can `drover up --cloud` start?

/** The fakes that a checkout of Drover has (clouds.md#fakes). */
export const FAKE_CLOUDS = ["ec2-fake", "fly-fake", "gce-fake", "hetzner-fake"] as const;
export type FakeCloudName = (typeof FAKE_CLOUDS)[number];
