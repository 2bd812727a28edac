// Runs before each test file. Node's `fetch` keeps a connection that is not used for four seconds, workerd
// for five: a busy machine takes one for alive that the other side has just closed, and a request fails that
// nobody has read. The dispatcher that `fetch` uses is found by this symbol once it was used.
await fetch("data:,");
const DISPATCHER = Symbol.for("undici.globalDispatcher.1");
const agent: unknown = Reflect.get(globalThis, DISPATCHER);
if (typeof agent === "object" && agent !== null) {
  const timeouts = { keepAliveTimeout: 1_000, keepAliveMaxTimeout: 1_000 };
  Reflect.set(globalThis, DISPATCHER, Reflect.construct(agent.constructor, [timeouts]));
}

export {};
