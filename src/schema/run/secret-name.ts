// The name of a secret of this Drover. It is part of paths.
import { z } from "zod";

export const SecretName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
    "must be 1 to 64 letters, digits, `_`, `.` and `-`, and begin with a letter or digit",
  );
