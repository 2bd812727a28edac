import { describe, expect, test } from "vitest";
import { SCOPES } from "../../src/shared/access/scopes.ts";
import { STATUS_OF_CODE } from "../../src/shared/errors.ts";
import { RUN_STATES } from "../../src/shared/run-state.ts";
import { createEdge, type Json } from "./support/edge.ts";
import { addEvents } from "./support/fake-objects.ts";

// What the generators and linters of others need of `/openapi.json`: on each rule a tool has stumbled.

const edge = createEdge();
const document: Json = await edge.json(200, "GET", "/openapi.json");
const schemas: Record<string, Json> = document.components.schemas;

interface Found {
  at: string;
  schema: Json;
}

/** Every object in the document that is a schema, or may be one. Examples are values. */
function* objectsIn(value: Json, at = "#"): Generator<Found> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { at, schema: value };
  for (const [key, inner] of Object.entries<Json>(value)) {
    if (key !== "examples" && key !== "example") yield* objectsIn(inner, `${at}/${key}`);
  }
}

const objects = [...objectsIn(document)];
const placesOf = (rule: (schema: Json) => boolean) =>
  objects.filter(({ schema }) => rule(schema)).map(({ at }) => at);

/** Every operation with its method and path. */
const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, declared]) => ({ method, path, declared })),
);
const operationOf = (id: string): Json =>
  operations.find(({ declared }) => declared.operationId === id)?.declared;

/** The schema that a reference names, or the schema itself. */
const resolved = (schema: Json): Json =>
  schema?.$ref === undefined ? schema : schemas[schema.$ref.split("/").at(-1) ?? ""];

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe("S5: nothing in the document is untyped", () => {
  test("an array says what its items are", () => {
    const isArray = ({ type }: Json) => [type].flat().includes("array");
    expect(placesOf((schema) => isArray(schema) && schema.items === undefined)).toEqual([]);
  });

  test("a map does not have values of every type", () => {
    const isMany = (one: Json) => Array.isArray(one?.type) && one.type.length > 2;
    const { additionalProperties: any } = { additionalProperties: true };
    const isOpen = ({ additionalProperties: more }: Json) =>
      isMany(more) || more === any || (typeof more === "object" && Object.keys(more).length === 0);
    // An item of a backup may be of a version that knows more fields (backup.md#restore).
    expect(placesOf(isOpen)).toEqual(["#/components/schemas/RestoredItem"]);
  });

  test("the spec of a run that is read is the one of a submission, in every state", () => {
    const specs = schemas.RunStatus.oneOf.map((one: Json) => resolved(one).properties.spec);
    expect(specs).toEqual(RUN_STATES.map(() => ref("RunSpec")));
  });

  const isHttp = ({ const: only, enum: all = [only] }: Json) => all.includes("http");
  test("the configuration of a pool that is read is the one that was put, without a secret text", () => {
    const shown = resolved(schemas.PoolView.properties.config).properties;
    const put = schemas.PoolConfig.properties;
    expect(Object.keys(shown)).toEqual(Object.keys(put));
    const [wanted, seen] = [put, shown].map((one) => {
      const kinds: Json[] = resolved(one.provider).oneOf;
      return kinds.map((kind) => resolved(kind).properties).find(({ kind }) => isHttp(kind));
    });
    expect(Object.keys(seen)).toEqual(Object.keys(wanted));
    expect(resolved(seen.secret).type).toBe("object");
    expect(wanted.secret.anyOf).toHaveLength(2);
  });
});

test("W1: no field that may be left out has a `default`: generators take it for a required one", () => {
  const isRisky = ({ properties = {}, required = [] }: Json) =>
    Object.entries<Json>(properties).some(([name, one]) => "default" in one && !required.includes(name));
  expect(placesOf(isRisky)).toEqual([]);
  const { pool, priority, resources } = schemas.RunSpec.properties;
  expect([pool, priority, resources].map(({ description }) => description)).toEqual([
    expect.stringContaining('Default: `"default"`.'),
    expect.stringContaining("Default: `50`."),
    expect.stringContaining('"vcpus":1'),
  ]);
});

describe("W2: every header of an answer that a client may read is declared", () => {
  test.each([
    ["getRunLog", "200", ["Accept-Ranges", "Drover-Attempt", "Drover-Dropped-Bytes"]],
    ["getRunLog", "206", ["Content-Range", "Drover-Attempt"]],
    ["getRunLog", "416", ["Content-Range"]],
    ["submitRuns", "200", ["Idempotency-Replayed"]],
    ["submitRuns", "401", ["WWW-Authenticate"]],
    ["submitRuns", "429", ["RateLimit", "RateLimit-Policy", "Retry-After"]],
    ["signIn", "429", ["RateLimit", "RateLimit-Policy", "Retry-After"]],
    ["exchangeToken", "429", ["RateLimit", "RateLimit-Policy", "Retry-After"]],
    ["getSnapshot", "200", ["Accept-Ranges", "Content-Length", "ETag"]],
    ["getOpenApi", "200", ["ETag"]],
    ["getOpenApi", "304", ["ETag"]],
    ["getReference", "200", ["ETag"]],
    ["getAgent", "200", ["ETag", "Repr-Digest"]],
  ])("%s, %s: %j", (id, status, names) => {
    const { headers = {} } = operationOf(id).responses[status];
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(names));
    for (const [name, header] of Object.entries<Json>(headers)) {
      expect(header).toEqual({ $ref: `#/components/headers/${name}` });
      const described = { description: expect.stringMatching(/\S/), schema: expect.anything() };
      expect(document.components.headers[name]).toMatchObject(described);
    }
  });
});

describe("W3: a 201 says where the new thing is", () => {
  test("every 201 declares it", () => {
    const created = operations.filter(({ declared }) => "201" in declared.responses);
    expect(created.length).toBeGreaterThan(3);
    for (const { declared } of created) {
      expect(Object.keys(declared.responses["201"].headers ?? {}), declared.operationId).toContain(
        "Location",
      );
    }
  });

  test("a run is where it says", async () => {
    const made = await edge.call("POST", "/v1/runs", { id: "located", argv: ["true"] });
    expect([made.status, made.headers.get("location")]).toEqual([201, "/v1/runs/located"]);
    expect((await edge.json(200, "GET", made.headers.get("location") ?? "")).id).toBe("located");
    const many = await edge.call("POST", "/v1/runs", { runs: [{ argv: ["true"] }, { argv: ["true"] }] });
    expect([many.status, many.headers.get("location")]).toEqual([201, null]);
  });
});

describe("W4: parameters that take words name them", () => {
  const parameterOf = (id: string, name: string): Json =>
    operationOf(id).parameters.find((one: Json) => one.name === name)?.schema;
  const words = [...RUN_STATES, "done", "all"];

  test.each(["listRuns", "getRun"])("the states of %s", (id) => {
    const { items } = parameterOf(id, "state");
    expect(resolved(items).anyOf.map((one: Json) => resolved(one))).toEqual([
      expect.objectContaining({ type: "string", enum: words }),
      expect.objectContaining({ type: "integer", minimum: 0, maximum: 127 }),
    ]);
  });

  test("a flag is written in one way, wherever there is one, and takes each of its words", async () => {
    const flags = operations.flatMap(({ declared }) =>
      (declared.parameters ?? [])
        .filter(({ schema }: Json) => resolved(schema).enum?.includes("1"))
        .map(({ schema }: Json) => resolved(schema).enum),
    );
    expect(flags.length).toBeGreaterThan(2);
    expect(flags).toEqual(flags.map(() => ["0", "1", "false", "true"]));
    await edge.json(201, "POST", "/v1/runs", { id: "flagged", argv: ["true"] });
    for (const word of flags[0]) {
      const answer = await edge.call("GET", `/v1/runs?all=${word}&state=all`);
      expect([word, answer.status]).toEqual([word, 200]);
    }
  });
});

describe("W5: the codes of errors are named", () => {
  test("a problem has one of all codes", () => {
    const code = resolved(schemas.Problem.properties.code);
    expect([...code.enum].sort()).toEqual(Object.keys(STATUS_OF_CODE).sort());
  });

  test("a refusal always has one of its own", () => {
    for (const { declared } of operations) {
      for (const answer of Object.values<Json>(declared.responses)) {
        const schema = answer.content?.["application/problem+json"]?.schema;
        if (schema?.allOf === undefined) continue;
        expect(schema.allOf[1]).toMatchObject({ type: "object", required: ["code"] });
      }
    }
  });

  test("so are the codes with which runs fail", () => {
    expect(resolved(schemas.Failure.properties.code).enum).toContain("machine_lost");
  });
});

test.each([
  "Abort",
  "Artifact",
  "Attempt",
  "Exit",
  "Failure",
  "HoldOff",
  "InstanceType",
  "Lifecycle",
  "Reschedule",
  "Resources",
  "Restart",
  "RunState",
  "ServiceStatus",
  "Signal",
  "Task",
  "WorkerHistoryEntry",
  "WorkerStateName",
])("W6: %s is a component with a name, and is used by it", (name) => {
  expect(schemas[name]).toBeDefined();
  const used = objects.filter(({ schema }) => schema.$ref === ref(name).$ref);
  expect(used.length).toBeGreaterThan(0);
});

test("W6: no two places say the same object or list of words without a name", () => {
  const seen = new Map<string, string[]>();
  for (const { at, schema } of objects) {
    const isThing = schema.type === "object" && Object.keys(schema.properties ?? {}).length > 1;
    if (!isThing && !(Array.isArray(schema.enum) && schema.enum.length > 2)) continue;
    const { description: _, ...shape } = schema;
    const text = JSON.stringify(shape);
    seen.set(text, [...(seen.get(text) ?? []), at]);
  }
  // The codes of an answer are told for each answer.
  const isCode = (at: string) => at.includes("/responses/");
  expect([...seen.values()].filter((places) => places.length > 1 && !places.every(isCode))).toEqual([]);
});

test("W7: a submission is answered with a run, or a batch of runs", () => {
  const { responses } = operationOf("submitRuns");
  for (const status of ["200", "201"]) {
    const { schema } = responses[status].content["application/json"];
    expect(schema).toEqual({ anyOf: [ref("RunBatch"), ref("RunStatus")] });
  }
});

describe("W8: HEAD", () => {
  test("is declared wherever GET is, but for the socket, without bodies", () => {
    const methodsOf = (path: string) => Object.keys(document.paths[path]);
    const gets = operations.filter(
      ({ method, declared }) => method === "get" && !("101" in declared.responses),
    );
    expect(gets.filter(({ path }) => !methodsOf(path).includes("head")).map(({ path }) => path)).toEqual([]);
    const heads = operations.filter(({ method }) => method === "head");
    expect(heads).toHaveLength(gets.length);
    for (const { declared } of heads) {
      expect(Object.values<Json>(declared.responses).filter(({ content }) => content !== undefined)).toEqual(
        [],
      );
    }
  });

  test("of a log says how long it is", async () => {
    const run = edge.addRun("long", { state: "complete" });
    run.log = new TextEncoder().encode("0123456789");
    run.logEnded = true;
    const head = (query = "") => edge.call("HEAD", `/v1/runs/long/logs/main/stdout${query}`);
    const whole = await head();
    expect([whole.status, whole.headers.get("content-length"), await whole.text()]).toEqual([200, "10", ""]);
    expect((await head("?tail=4")).headers.get("content-length")).toBe("4");
  });
});

test("W9, P38: each operation names the scope that it needs, and no scope is named that there is not", () => {
  const { bearer } = document.components.securitySchemes;
  expect(bearer.description).toContain("DROVER_ADMIN_TOKEN");
  const guarded = operations.filter(({ declared }) => declared.security.some((one: Json) => "bearer" in one));
  expect(guarded.map(({ declared }) => declared.security)).toEqual(guarded.map(() => [{ bearer: [] }]));
  const unnamed = guarded.filter(({ declared }) => {
    const access = declared["x-drover-access"];
    const says = access === "any_token" ? "Needs a token." : `Needs a token with the scope \`${access}\`.`;
    return !declared.description.includes(says);
  });
  expect(unnamed.map(({ declared }) => declared.operationId)).toEqual([]);
  const named = JSON.stringify(document).match(/(?<=scope `)[\w:]+(?=`)/g) ?? [];
  expect(named.filter((name) => !SCOPES.some((scope) => scope === name))).toEqual([]);
});

test("W10: every event of a stream has a name", async () => {
  addEvents(edge.addRun("told", { state: "complete" }), 2);
  const accept = "text/event-stream";
  const answer = await edge.call("GET", "/v1/runs/told/events", undefined, { accept });
  const names = [...(await answer.text()).matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
  expect(names).toEqual(["event", "event", "end"]);
});
