// Which words of a command are code, so that a value within them would be executed (jobs.md#scripts)?

/** A program that takes code as a word. */
interface Interpreter {
  /** The names of the program, without its directory. */
  name: RegExp;
  /** The option after which the code stands. */
  code: RegExp;
  /** The same option with the code in one word. */
  attached?: RegExp;
  /** Options whose value is the next word. */
  valued?: RegExp;
  /** Options may follow arguments, too. */
  anywhere?: boolean;
  /** Other options may stand between that option and the code. */
  goesOn?: boolean;
}

const INTERPRETERS: Interpreter[] = [
  {
    name: /^(?:r?bash|(?:d?a|z|m?k|pdk|ok|c|tc|fi|ya)?sh)(?:\.exe)?$/i,
    code: /^-[a-zA-Z]*c[a-zA-Z]*$|^--command$/,
    valued: /^[-+][a-zA-Z]*[oO]$|^--(?:rcfile|init-file|init-command)$/,
    goesOn: true,
  },
  {
    name: /^(?:su|runuser|script)$/,
    code: /^-[a-zA-Z]*c$|^--(?:session-)?command$/,
    attached: /^-[a-zA-Z]*c.|^--(?:session-)?command=/,
    anywhere: true,
  },
  { name: /^(?:python|pypy)[\d.]*$/, code: /^-[a-zA-Z]*c$/, attached: /^-[a-zA-Z]*c./, valued: /^-[WX]$/ },
  {
    name: /^(?:node(?:js)?|bun|deno)[\d.]*$/,
    code: /^(?:-[a-z]*[ep]|--eval|--print|eval)(?:=|$)/,
    valued: /^(?:-r|--require|--import|--loader|-C|--conditions)$/,
  },
  {
    name: /^(?:perl|ruby|lua|luajit|R|Rscript|julia|osascript)[\d.]*$/,
    code: /^-[a-zA-Z]*[eE]$|^--eval$/,
    attached: /^-[a-zA-Z]*[eE].|^--eval=/,
    valued: /^-[IlMmrt]$/,
  },
  { name: /^php[\d.]*$/, code: /^-(?:r|-run)$/, attached: /^-r.|^--run=/, valued: /^-[cd]$/ },
  { name: /^(?:pwsh|powershell)(?:\.exe)?$/i, code: /^-c(?:o(?:mmand)?)?$/i },
  {
    name: /^env$/,
    code: /^-[a-zA-Z]*S$|^--split-string$/,
    attached: /^-[a-zA-Z]*S.|^--split-string=/,
    valued: /^-[uC]$|^--(?:unset|chdir)$/,
  },
];

/**
 * The places of the words that are code, in a command that may begin with others such as `env` and `timeout`:
 * the script after `sh -c`, and the options before it. Words after a script are its arguments, and no code.
 */
export function codeWords(words: readonly string[]): Set<number> {
  const places = new Set<number>();
  for (const [i, word] of words.entries()) {
    const program = word.slice(word.lastIndexOf("/") + 1);
    for (const one of INTERPRETERS) {
      const at = one.name.test(program) ? codeOptionAt(words, i + 1, one) : undefined;
      if (at === undefined) continue;
      const isAttached = one.attached?.test(words[at] ?? "") === true;
      let script = isAttached && !one.code.test(words[at] ?? "") ? at : at + 1;
      while (one.goesOn === true && /^[-+]/.test(words[script] ?? ""))
        script += one.valued?.test(words[script] ?? "") === true ? 2 : 1;
      for (let place = i + 1; place <= script; place += 1) places.add(place);
    }
  }
  return places;
}

/** The place of the option before code; undefined: the program is given no code, but a file or nothing. */
function codeOptionAt(words: readonly string[], from: number, one: Interpreter): number | undefined {
  for (let at = from; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (one.code.test(word) || one.attached?.test(word) === true) return at;
    if (one.valued?.test(word) === true) at += 1;
    else if (one.anywhere !== true && !/^[-+]./.test(word)) return undefined;
  }
  return undefined;
}
