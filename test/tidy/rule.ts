import { isCode, lineAt, type SourceFile } from "./source.ts";

/** A place that breaks a rule, and what is wrong there. */
export interface Offence {
  path: string;
  line: number;
  text: string;
}

/** Something that the linter and the compiler cannot say. */
export interface Rule {
  name: string;
  /** What to do about an offence, in words for the one who has just made it. */
  mend: string;
  find(files: SourceFile[]): Offence[];
}

/** Which files a rule looks at. */
export type Scope = (path: string) => boolean;

/** Files below any of these folders, or these files. */
export function below(...places: string[]): Scope {
  return (path) => places.some((place) => path === place || (place.endsWith("/") && path.startsWith(place)));
}

/** What runs in production. */
export const sources: Scope = (path) =>
  isCode(path) && below("src/", "agent/", "archive/", "disk/", "client/", "cli/", "local/", "ui/")(path);

/** Tests and what only they use. */
export const tests: Scope = (path) => isCode(path) && below("test/")(path);

/** Stands for a project of a user: what Drover runs, not what Drover is. */
export const specimens: Scope = below("demo/");

/** Where decisions are made and nothing else happens. */
export const pure: Scope = below("src/core/", "src/probes/", "agent/core/");

/** A rule that judges each file by itself. */
export function eachFile(scope: Scope, judge: (file: SourceFile) => Offence[]): Rule["find"] {
  return (files) => files.filter(({ path }) => scope(path)).flatMap(judge);
}

/**
 * A rule that is broken wherever the pattern matches the code: comments, strings and patterns do not count.
 */
export function nowhereInCode(scope: Scope, pattern: RegExp): Rule["find"] {
  return eachFile(scope, (file) => matches(file, file.code, pattern));
}

/** A rule that is broken wherever the pattern matches the file, comments and strings included. */
export function nowhereInText(scope: Scope, pattern: RegExp): Rule["find"] {
  return eachFile(scope, (file) => matches(file, file.text, pattern));
}

/**
 * An offence for each match of the pattern (which must be global) in a text of the same layout as the file.
 */
export function matches(file: SourceFile, text: string, pattern: RegExp): Offence[] {
  return [...text.matchAll(pattern)].map((match) => ({
    path: file.path,
    line: lineAt(text, match.index),
    text: match[0].trim(),
  }));
}
