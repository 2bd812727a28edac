// What has a token made that is valid, by itself or by what it has made (access.md#children)?
import type { Session, Token, TrustRule } from "../../../../src/generated/api.ts";
import { nameIn } from "../../../../src/shared/access/project.ts";

/** The tokens and trust rules that a token has made. */
export interface Made {
  tokens: Token[];
  rules: TrustRule[];
}

/** What a token has made, also indirectly, and what is valid of it. */
export function madeBy(token: Token, tokens: readonly Token[], rules: readonly TrustRule[]): Made {
  const found: Made = { tokens: [], rules: [] };
  const seen = new Set([token.id]);
  const open = [token];
  for (let maker = open.pop(); maker !== undefined; maker = open.pop()) {
    const { id } = maker;
    const ownRules = rules.filter(({ parent }) => parent === id);
    found.rules.push(...ownRules);
    const given = (one: Token) => ownRules.some((rule) => rule.name === one.rule && isSameProject(rule, one));
    for (const child of tokens.filter((one) => one.parent === id || given(one))) {
      if (seen.has(child.id)) continue;
      seen.add(child.id);
      open.push(child);
      if (child.state === "active") found.tokens.push(child);
    }
  }
  return found;
}

/** The valid tokens that a trust rule has given. */
export function givenBy(rule: TrustRule, tokens: readonly Token[]): Token[] {
  return tokens.filter((one) => one.state === "active" && one.rule === rule.name && isSameProject(rule, one));
}

/** The browser sessions that act for a token, and end with it. */
export function sessionsOf({ id }: Token, sessions: readonly Session[]): Session[] {
  return sessions.filter(({ token }) => token === id);
}

/** How the log names what the holder of a token does (access.md#actors). */
export function actorOf({ name, project, rule }: Pick<Token, "name" | "project" | "rule">): string {
  return rule === null ? `token:${nameIn(project, name, ":")}` : name;
}

/** How the log names a browser that acts for the holder of a token (access.md#actors). */
export function browserOf(token: Parameters<typeof actorOf>[0]): string {
  const own = actorOf(token);
  return `session:${own.slice(own.indexOf(":") + 1)}`;
}

const isSameProject = (a: { project: string }, b: { project: string }) => a.project === b.project;
