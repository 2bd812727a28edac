import { ARVADOS_RULES } from "./support/arvados-rules.ts";
import { describeIndex } from "./support/rule-index.ts";

describeIndex("arvados.md", ARVADOS_RULES);
