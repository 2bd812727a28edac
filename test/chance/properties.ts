import fc from "fast-check";
import { SEED } from "./seed.ts";

// Runs before each test file: properties are tried with the values that the seed chooses.
fc.configureGlobal({ seed: SEED });
