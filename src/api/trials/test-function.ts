import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { AppError, invalid } from '../../domain/errors.ts';
import { isTexts } from '../../platform/json/is-object.ts';
import { RawJson } from '../../platform/json/raw-json.ts';
import { oneOf, Text, Type } from '../../platform/type.ts';
import { completeLimits, functionVersion } from '../../sandbox/contract.ts';
import type { ApiContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { AnyJson } from '../http/payload-json.ts';

/** Tests a function with the same sandbox and limits as deliveries and ingest. */
const TestFunction = Type.Object({
  payload: Type.Optional(Type.Unknown({ description: 'The argument of the function.' })),
  function: Text(524_288, 'Source text that defines `transform`.'),
  type: Type.Optional(oneOf(['body', 'header', ''], 'For sources: which of the two functions it is.')),
});

const TestedFunction = Type.Object({
  payload: AnyJson('The result of the function.'),
  log: Type.Array(Type.String(), { description: 'Lines written to the console.' }),
  duration_ms: Type.Number({ description: 'CPU time used.' }),
  limits: Type.Object({
    cpu_ms: Type.Integer(),
    heap_bytes: Type.Integer(),
    output_bytes: Type.Integer(),
    heap_used_bytes: Type.Integer(),
  }),
});

export function registerTestFunction(app: FastifyInstance, context: ApiContext): void {
  for (const [resource, tag] of [
    ['subscriptions', 'Subscriptions'],
    ['sources', 'Sources'],
  ] as const) {
    operationsOf(tag).post(app, `/api/v1/projects/:projectID/${resource}/test_function`, {
      id: resource === 'subscriptions' ? 'testSubscriptionFunction' : 'testSourceFunction',
      summary: 'Run a function on a payload and show its result and its log. Nothing is stored.',
      body: TestFunction,
      message: 'Function run',
      data: TestedFunction,
      ...(resource === 'subscriptions' && { portal: 'anyone' as const }),
      access: 'developer',
      handle: ({ project, body }) => testFunction(context, project.id, body),
    });
  }
}

async function testFunction(
  context: ApiContext,
  projectId: string,
  body: Static<typeof TestFunction>,
): Promise<Static<typeof TestedFunction>> {
  const result = await context.sandbox.run({
    code: body.function,
    version: functionVersion(body.function),
    tenant: projectId,
    input: JSON.stringify(body.payload ?? null),
    seed: context.ids.next(),
    nowMs: context.now(),
  });
  if (!result.ok) {
    if (result.ours) throw new AppError('overloaded', { retry: 1 });
    throw invalid('function', result.message);
  }
  if (body.type === 'header' && !isTexts(JSON.parse(result.output)))
    throw invalid('function', 'a header function must return an object whose values are strings');
  const limits = completeLimits();
  return {
    payload: new RawJson(result.output),
    log: result.log,
    duration_ms: result.cpuMs,
    limits: {
      cpu_ms: limits.cpuMs,
      heap_bytes: limits.heapBytes,
      output_bytes: limits.outputBytes,
      heap_used_bytes: result.heapBytes,
    },
  };
}
