import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

/**
 * An OTLP/HTTP collector on loopback. It accepts only valid exports. An invalid one is answered 400 and
 * recorded as a problem.
 */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  traceState: string | undefined;
  name: string;
  kind: number;
  startNanos: bigint;
  endNanos: bigint;
  attributes: Record<string, string | number | boolean>;
  /** The message of a failed span. */
  error: string | undefined;
  resource: Record<string, string | number | boolean>;
}

const closed = { additionalProperties: false };
const Hex = (digits: number) => Type.String({ pattern: `^(?!0+$)[0-9a-f]{${digits}}$` });
const AnyValue = Type.Union([
  Type.Object({ stringValue: Type.String() }, closed),
  Type.Object({ boolValue: Type.Boolean() }, closed),
  Type.Object({ intValue: Type.String({ pattern: '^-?\\d+$' }) }, closed),
  Type.Object({ doubleValue: Type.Number() }, closed),
]);
const Attributes = Type.Array(Type.Object({ key: Type.String({ minLength: 1 }), value: AnyValue }, closed));
const Nanos = Type.String({ pattern: '^\\d{19}$' });
const Export = Type.Object(
  {
    resourceSpans: Type.Array(
      Type.Object(
        {
          resource: Type.Object({ attributes: Attributes }, closed),
          scopeSpans: Type.Array(
            Type.Object(
              {
                scope: Type.Object({ name: Type.String(), version: Type.String() }, closed),
                spans: Type.Array(
                  Type.Object(
                    {
                      traceId: Hex(32),
                      spanId: Hex(16),
                      parentSpanId: Type.Optional(Hex(16)),
                      traceState: Type.Optional(Type.String()),
                      flags: Type.Integer(),
                      name: Type.String({ minLength: 1 }),
                      kind: Type.Integer({ minimum: 1, maximum: 5 }),
                      startTimeUnixNano: Nanos,
                      endTimeUnixNano: Nanos,
                      attributes: Attributes,
                      status: Type.Object(
                        { code: Type.Optional(Type.Literal(2)), message: Type.Optional(Type.String()) },
                        closed,
                      ),
                    },
                    closed,
                  ),
                ),
              },
              closed,
            ),
          ),
        },
        closed,
      ),
    ),
  },
  closed,
);

export class Collector {
  readonly spans: CollectedSpan[] = [];
  readonly problems: string[] = [];
  readonly requests: { headers: IncomingHttpHeaders; body: string }[] = [];
  /** The status for an export it can read. */
  status = 200;
  answer: object = {};
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      this.requests.push({ headers: request.headers, body });
      const isExport = request.method === 'POST' && request.url === '/v1/traces';
      if (!isExport || request.headers['content-type'] !== 'application/json') {
        this.problems.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
        response.writeHead(400).end();
        return;
      }
      if (this.status === 200) this.#take(body);
      response.writeHead(this.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(this.answer));
    });
  });

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await new Promise<void>((resolve) => collector.#server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(body: string): void {
    const value: unknown = JSON.parse(body);
    if (!Value.Check(Export, value)) {
      this.problems.push(JSON.stringify(Value.Errors(Export, value)[0]));
      return;
    }
    for (const { resource, scopeSpans } of value.resourceSpans) {
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        this.spans.push({
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId,
          traceState: span.traceState,
          name: span.name,
          kind: span.kind,
          startNanos: BigInt(span.startTimeUnixNano),
          endNanos: BigInt(span.endTimeUnixNano),
          attributes: toRecord(span.attributes),
          error: span.status.code === 2 ? (span.status.message ?? '') : undefined,
          resource: toRecord(resource.attributes),
        });
      }
    }
  }
}

function toRecord(attributes: { key: string; value: object }[]): Record<string, string | number | boolean> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [[kind, one] = ['', '']] = Object.entries(value) as [string, string | number | boolean][];
      return [key, kind === 'intValue' ? Number(one) : one];
    }),
  );
}
