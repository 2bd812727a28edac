// What must be known to create a pool, and which flags say it?
import { CliError } from "../errors.ts";

/** The clouds for which a pool can be created without writing a file. */
export const CLOUDS = ["hetzner", "ec2", "fly", "gce", "none"] as const;
export type Cloud = (typeof CLOUDS)[number];

/** A type that was asked for, by the cloud's name, and the price that the caller has named for it. */
export interface ChosenType {
  type: string;
  price?: number;
}

/** What is known so far. `credentials`: the name of a file, or `-`. */
export interface Answers {
  cloud?: Cloud | undefined;
  credentials?: string | undefined;
  app?: string | undefined;
  projectId?: string | undefined;
  /** The region of EC2, the regions of Fly, the locations of Hetzner, or the zones of Google. */
  places: string[];
  types: ChosenType[];
  image?: string | undefined;
  max?: number | undefined;
  yes: boolean;
  spot: boolean;
  disk: string;
  sshKeys: string[];
  /** The subnet of each zone of EC2. */
  subnets?: Record<string, string> | undefined;
  endpoint?: string | undefined;
  secret?: string | undefined;
}

/** An answer that somebody has to give, as a flag or at a terminal. */
export interface Question {
  flag: string;
  /** What is asked at a terminal. */
  text: string;
  /** The clouds that need it. */
  of: readonly Cloud[];
  /** Whether the cloud chooses, if nothing is said. */
  isOptional?: true;
  isAnswered(answers: Answers): boolean;
  /** The answers with this one. A text is what is wrong with it. */
  take(answers: Answers, text: string): Answers | string;
  /** What is meant if the answer is empty. */
  proposal?(answers: Answers): string | undefined;
}

const ALL: readonly Cloud[] = ["hetzner", "ec2", "fly", "gce"];
const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "");

const IMAGES: Partial<Record<Cloud, string>> = {
  hetzner: "ubuntu-24.04",
  fly: "docker.io/library/node:24-bookworm-slim",
  gce: "projects/debian-cloud/global/images/family/debian-12",
};

const PLACES: readonly Pick<Question, "flag" | "text" | "of" | "isOptional">[] = [
  { flag: "--region <region>", text: "Region of EC2, such as eu-west-1", of: ["ec2"] },
  { flag: "--zone <zone>", text: "Zones of Google, best first, such as europe-west1-b", of: ["gce"] },
  { flag: "--zone <location>", text: "Locations, best first", of: ["hetzner"], isOptional: true },
  { flag: "--region <region>", text: "Regions, best first", of: ["fly"], isOptional: true },
];

/** How a type is written. */
export const TYPE_TEXT = "a type, or a type and its price per hour, such as m7i.large=0.107";

/** All questions, in the order in which they are asked. */
export const QUESTIONS: readonly Question[] = [
  {
    flag: "--cloud <kind>",
    text: `Cloud (${CLOUDS.join(", ")})`,
    of: [...ALL, "none"],
    isAnswered: ({ cloud }) => cloud !== undefined,
    take: (answers, text) => {
      const cloud = CLOUDS.find((one) => one === text);
      return cloud === undefined ? `It must be one of: ${CLOUDS.join(", ")}` : { ...answers, cloud };
    },
  },
  {
    flag: "--credentials <path>",
    text: "File with the credentials",
    of: ALL,
    isAnswered: ({ credentials }) => credentials !== undefined,
    take: (answers, text) =>
      text === "" || text === "-" ? "Name a file" : { ...answers, credentials: text },
  },
  {
    flag: "--app <app>",
    text: "App of Fly",
    of: ["fly"],
    isAnswered: ({ app }) => app !== undefined,
    take: (answers, text) => (text === "" ? "Name the app" : { ...answers, app: text }),
  },
  {
    flag: "--project-id <id>",
    text: "Id of the project of Google",
    of: ["gce"],
    isAnswered: ({ projectId }) => projectId !== undefined,
    take: (answers, text) => (text === "" ? "Name the project" : { ...answers, projectId: text }),
  },
  ...PLACES.map(
    (place): Question => ({
      ...place,
      isAnswered: ({ places }) => places.length > 0,
      take: (answers, text) => placesFrom(answers, text, place.isOptional === true),
    }),
  ),
  {
    flag: "--type <type>",
    text: "Machine types, separated by blanks",
    of: ALL,
    isAnswered: ({ types }) => types.length > 0,
    take: (answers, text) => {
      const types = words(text).map(chosenType);
      if (types.length === 0) return "Name at least one type";
      const known = types.filter((type) => type !== undefined);
      return known.length === types.length ? { ...answers, types: known } : `It must be ${TYPE_TEXT}`;
    },
  },
  {
    flag: "--image <image>",
    text: "Image of the machines",
    of: ALL,
    isAnswered: ({ image }) => image !== undefined,
    take: (answers, text) => (text === "" ? "Name an image" : { ...answers, image: text }),
    proposal: ({ cloud }) => (cloud === undefined ? undefined : IMAGES[cloud]),
  },
  {
    flag: "--max <number>",
    text: "At most how many machines at once",
    of: ALL,
    isAnswered: ({ max }) => max !== undefined,
    take: (answers, text) => {
      const max = /^\d{1,5}$/.test(text) ? Number(text) : 0;
      return max >= 1 && max <= 10_000 ? { ...answers, max } : "It must be a whole number from 1 to 10000";
    },
    proposal: () => "2",
  },
];

/** A type, with the price that may stand behind it: `m7i.large=0.107`. Undefined: it is no type. */
export function chosenType(text: string): ChosenType | undefined {
  const [, type, price] = /^([\w.:-]+)(?:=(\d{1,7}(?:\.\d{1,9})?))?$/.exec(text) ?? [];
  if (type === undefined) return undefined;
  return price === undefined ? { type } : { type, price: Number(price) };
}

function placesFrom(answers: Answers, text: string, isOptional: boolean): Answers | string {
  const places = words(text);
  if (places.length === 0) return isOptional ? answers : "Name at least one";
  return { ...answers, places };
}

/** The questions of these answers' cloud. As long as none is chosen: those that all clouds have. */
export function questionsFor({ cloud }: Answers): Question[] {
  if (cloud !== undefined) return QUESTIONS.filter(({ of }) => of.includes(cloud));
  return QUESTIONS.filter(({ of }) => ALL.every((one) => of.includes(one)));
}

/** The flags that say what is not known yet. Without a terminal, `--yes` says that the pool is wanted. */
export function missingFlags(answers: Answers): string[] {
  const flags = questionsFor(answers)
    .filter(({ isOptional, isAnswered }) => isOptional !== true && !isAnswered(answers))
    .map(({ flag }) => flag);
  return answers.yes ? flags : [...flags, "--yes"];
}

/** Refuses answers that contradict each other. Throws a `CliError`. */
export function checkAnswers({ cloud, places, spot, subnets }: Answers): void {
  if (cloud === "ec2" && places.length > 1) {
    throw new CliError("A pool on EC2 is in one region.", [
      "Give --region once, and one pool for each region.",
    ]);
  }
  if (spot && cloud !== "ec2" && cloud !== "gce") {
    throw new CliError("Only EC2 and Google have spot machines.", ["Leave --spot out."]);
  }
  if (subnets !== undefined && cloud !== "ec2") {
    throw new CliError("Only EC2 takes --subnet.", ["Leave it out."]);
  }
}
