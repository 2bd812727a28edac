import { z } from "zod";

/** Without user name and password, query and fragment: what is asked for goes behind it. */
const SERVICE_URL = /^https?:\/\/[\w.:[\]-]+(?:\/[!"$->@-~]*)?$/;
const TEXT =
  "must be an http or https URL without user name, password, query and fragment, and without blanks: " +
  "what the service asks for as a password goes into `secret`";

/** Where the service of a provider is. It is shown to all who may read the pool. */
export const ServiceUrl = z
  .string()
  .max(2_048)
  .regex(SERVICE_URL, { error: TEXT, abort: true })
  .refine(URL.canParse, TEXT);
