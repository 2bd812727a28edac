// From which source does a line of a bundle come?

/** How esbuild names, in a bundle that is not minified, the source of the lines that follow. */
const NAMED = /^\s*\/\/ ((?:[\w@.-]+\/)+[\w.-]+\.(?:[cm]?[jt]sx?|sh))$/;

/** Answers with the source of a line, counted from 1, or with undefined before the first source. */
export function sourcesOf(bundle: string): (line: number) => string | undefined {
  const sources: (string | undefined)[] = [];
  let source: string | undefined;
  for (const line of bundle.split("\n")) {
    source = NAMED.exec(line)?.[1] ?? source;
    sources.push(source);
  }
  return (line) => sources[line - 1];
}
