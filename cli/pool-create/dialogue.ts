// What is a person at a terminal asked, so that a pool can be created?
import type { Person } from "../terminal/ask.ts";
import { type Answers, type Question, questionsFor } from "./answers.ts";
import { type Offer, offersText } from "./offer.ts";

/** What a dialogue needs besides the person. */
export interface Stage {
  person: Person;
  say(line: string): Promise<void>;
  /** Shows a table. */
  show(text: string): Promise<void>;
  /** What is wrong with the answers, as far as this machine knows. Undefined: nothing. */
  faultOf(answers: Answers): Promise<string | undefined>;
  /** The types that the cloud offers, by what is answered so far. */
  offers(answers: Answers): Promise<readonly Offer[]>;
  columns: number;
}

/** Asks for everything that is not known yet. An answer that cannot be is asked for again. */
export async function completed(given: Answers, stage: Stage): Promise<Answers> {
  const asked = new Set<Question>();
  let answers = given;
  for (;;) {
    const next = questionsFor(answers).find((one) => !one.isAnswered(answers) && !asked.has(one));
    if (next === undefined) return answers;
    if (next.flag.startsWith("--type")) await propose(answers, stage);
    answers = await answered(next, answers, stage);
    // One that the cloud may answer stays unanswered.
    asked.add(next);
  }
}

async function answered(question: Question, answers: Answers, stage: Stage): Promise<Answers> {
  const { person, say, faultOf } = stage;
  const more = question.isOptional === true ? "; empty: the cloud chooses" : "";
  for (;;) {
    const text = await person.ask(`${question.text}${more}`, question.proposal?.(answers));
    const taken = question.take(answers, text);
    const fault = typeof taken === "string" ? taken : await faultOf(taken);
    if (typeof taken !== "string" && fault === undefined) return taken;
    await say(fault ?? "");
  }
}

async function propose(answers: Answers, { offers, say, show, columns }: Stage): Promise<void> {
  const all = await offers(answers);
  if (all.length === 0) {
    await say("The cloud names no types to these credentials; the checks will say why.");
    return;
  }
  await show(offersText(all, answers.spot, columns));
}
