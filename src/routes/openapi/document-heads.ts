// How HEAD gets into the OpenAPI document: one operation for each GET.
import { headersOf } from "./answer-headers.ts";
import { HEADS } from "./operation.ts";

interface Answer {
  description: string;
  headers?: object;
  content?: object;
}

interface Get {
  operationId: string;
  summary: string;
  responses: Record<string, Answer>;
}

/**
 * Adds a HEAD operation to each path that has a GET operation. The edge answers HEAD with the same headers as
 * GET and without a body. A socket has no HEAD.
 */
export function withHeads(paths: object): object {
  return Object.fromEntries(
    Object.entries(paths).map(([path, methods]: [string, { get?: Get }]) => {
      const { get } = methods;
      if (get === undefined || "101" in get.responses) return [path, methods];
      return [path, { ...methods, head: headOf(get) }];
    }),
  );
}

function headOf({ operationId, summary, responses, ...get }: Get): object {
  return {
    ...get,
    tags: [HEADS],
    operationId: `head${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}`,
    summary: `Only the headers of: ${summary}`,
    responses: Object.fromEntries(
      Object.entries(responses).flatMap(([status, { description, headers = {} }]) => {
        // HEAD ignores ranges.
        if (status === "206" || status === "416") return [];
        const length = "Accept-Ranges" in headers ? headersOf("Content-Length") : {};
        return [[status, { description, headers: { ...headers, ...length } }]];
      }),
    ),
  };
}
