// Runs before each test file. Files share a process, in which `up` changes environment variables for good:
// each file begins with the original ones.
import { afterAll } from "vitest";

const before = { ...process.env };
afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
