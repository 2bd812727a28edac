// EC2's Query protocol: forms in, XML out, and the errors with the statuses that EC2 gives them.

/** An error that EC2 answers with. */
export class Ec2Fault extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }

  /** The HTTP status, which says little: a lack of capacity is a server error, throttling is 503. */
  get status(): number {
    return STATUSES[this.code] ?? 400;
  }
}

const STATUSES: Readonly<Record<string, number>> = {
  AuthFailure: 401,
  InvalidClientTokenId: 401,
  "AuthFailure.ServiceLinkedRoleCreationNotPermitted": 403,
  SignatureDoesNotMatch: 403,
  UnauthorizedOperation: 403,
  DryRunOperation: 412,
  InsufficientInstanceCapacity: 500,
  InsufficientAddressCapacity: 500,
  InternalError: 500,
  InternalFailure: 500,
  RequestLimitExceeded: 503,
  ServiceUnavailable: 503,
  Unavailable: 503,
};

/** The fields of a form, by name. */
export class Params {
  readonly #fields: Map<string, string>;

  constructor(fields: Iterable<[string, string]>) {
    this.#fields = new Map(fields);
  }

  static of(body: string): Params {
    return new Params(new URLSearchParams(body));
  }

  get(name: string): string | undefined {
    return this.#fields.get(name);
  }

  need(name: string): string {
    const value = this.#fields.get(name);
    if (value === undefined || value === "") {
      throw new Ec2Fault("MissingParameter", `The request must contain the parameter ${name}`);
    }
    return value;
  }

  /** The values of `NAME.1`, `NAME.2` … */
  list(name: string): string[] {
    return this.#indexes(name).flatMap((index) => this.get(`${name}.${index}`) ?? []);
  }

  /** The structures `NAME.1.…`, `NAME.2.…`, each with the names that are left. */
  structures(name: string): Params[] {
    return this.#indexes(name).map((index) => this.below(`${name}.${index}.`));
  }

  below(prefix: string): Params {
    const inside = [...this.#fields].filter(([name]) => name.startsWith(prefix));
    return new Params(inside.map(([name, value]) => [name.slice(prefix.length), value]));
  }

  get names(): string[] {
    return [...this.#fields.keys()];
  }

  /** All fields but these, in an order that does not depend on how they were sent. */
  fingerprint(without: readonly string[]): string {
    const fields = [...this.#fields].filter(([name]) => !without.includes(name));
    return JSON.stringify(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #indexes(name: string): number[] {
    const found = this.names.flatMap((field) => {
      const rest = field.startsWith(`${name}.`) ? field.slice(name.length + 1) : "";
      const [, index] = /^(\d+)(?:\.|$)/.exec(rest) ?? [];
      return index === undefined ? [] : [Number(index)];
    });
    return [...new Set(found)].sort((a, b) => a - b);
  }
}

/** What XML is made of: a list becomes `item` elements, and what is undefined is left out. */
export type Node = string | number | boolean | undefined | Node[] | { [name: string]: Node };

const NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/";

export function answerXml(action: string, content: { [name: string]: Node }): string {
  const inside = Object.entries({ requestId: requestId(), ...content })
    .map(([name, node]) => element(name, node))
    .join("");
  const root = `${action}Response`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="${NAMESPACE}">${inside}</${root}>`;
}

export function errorXml({ code, message }: Ec2Fault): string {
  const error = element("Error", { Code: code, Message: message });
  const errors = `<Errors>${error}</Errors><RequestID>${requestId()}</RequestID>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Response>${errors}</Response>`;
}

function element(name: string, node: Node): string {
  if (node === undefined) return "";
  const inside = contentOf(node);
  return inside === "" ? `<${name}/>` : `<${name}>${inside}</${name}>`;
}

function contentOf(node: Exclude<Node, undefined>): string {
  if (Array.isArray(node)) return node.map((item) => element("item", item)).join("");
  if (typeof node === "object") {
    return Object.entries(node)
      .map(([name, child]) => element(name, child))
      .join("");
  }
  const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return String(node).replace(/[&<>"]/g, (char) => escapes[char] ?? char);
}

let requests = 0;
function requestId(): string {
  requests += 1;
  return `00000000-0000-4000-8000-${requests.toString(16).padStart(12, "0")}`;
}
