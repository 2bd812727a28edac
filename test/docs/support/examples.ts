import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");

/** A fenced block of a document. */
export interface Block {
  /** What follows the fence, such as `sh`. */
  language: string;
  text: string;
  /** The line of its fence in the document, from 1. */
  line: number;
}

/** Commands that a reader is to type, and the output that the document shows. */
export interface Example {
  line: number;
  script: string;
  /** The `text` block that follows directly, if there is one. */
  shown: string | undefined;
}

const FENCE = /^( *)```(\S*)[^\n]*\n([\s\S]*?)^\1```$/gm;

/** Reads a document of the repository. */
export function readDocument(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The fenced blocks of a document, in order. */
export function blocksOf(document: string): (Block & { end: number })[] {
  return [...document.matchAll(FENCE)].map((match) => ({
    language: match[2] ?? "",
    text: (match[3] ?? "").replaceAll(new RegExp(`^${match[1]}`, "gm"), ""),
    line: document.slice(0, match.index).split("\n").length,
    end: match.index + match[0].length,
  }));
}

/**
 * The examples of a document: each `sh` block, with the `text` block after it, if nothing but blank lines is
 * between them. Blocks in any other language are only shown.
 */
export function examplesOf(document: string): Example[] {
  const blocks = blocksOf(document);
  return blocks.flatMap(({ language, text, line, end }, index) => {
    if (language !== "sh") return [];
    const next = blocks[index + 1];
    const follows = next?.language === "text" && /^\s*```text$/.test(between(document, end, next.line));
    return [{ line, script: text, shown: follows ? next.text : undefined }];
  });
}

function between(document: string, from: number, toLine: number): string {
  const lines = document.slice(0, from).split("\n").length;
  return document.split("\n").slice(lines, toLine).join("\n");
}

/**
 * Whether output is what the document shows: `…` stands for whatever differs from time to time, at the end of
 * a line or within it, and alone on its line for any number of lines.
 */
export function isAsShown(output: string, shown: string): boolean {
  const pattern = shown
    .trimEnd()
    .split("\n")
    .map((line) => (line.trim() === "…" ? "(?:.*\n)*?" : `${lineSource(line.trimEnd())} *\n`))
    .join("");
  return new RegExp(`^${pattern}$`).test(`${output.trimEnd()}\n`);
}

function lineSource(line: string): string {
  return line
    .split("…")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/ {2,}/g, " +"))
    .join(".*");
}
