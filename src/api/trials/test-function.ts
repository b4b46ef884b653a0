import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { TEST_EVENT_TYPE } from '../../domain/delivery.ts';
import { AppError, invalid } from '../../domain/errors.ts';
import { isTexts } from '../../platform/json/is-object.ts';
import { RawJson } from '../../platform/json/raw-json.ts';
import { oneOf, Text, Type } from '../../platform/type.ts';
import { hideInJson, hideValues } from '../../routing/hidden-variables.ts';
import { callFunction, functionRun } from '../../routing/run-function.ts';
import { completeLimits, type FunctionResult, functionVersion } from '../../sandbox/contract.ts';
import type { Call } from '../http/call.ts';
import type { SendContext } from '../http/context.ts';
import { AnyJson } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { FunctionLimits } from '../subscriptions/function-schema.ts';
import { functionOutcome, shownRequest } from './shown-request.ts';

/** Tests a function with the same sandbox and limits as deliveries and ingest. */
const TestFunction = Type.Object({
  payload: Type.Optional(Type.Unknown({ description: 'The argument of the function.' })),
  function: Text(524_288, 'Source text that defines `transform`.'),
  type: Type.Optional(oneOf(['body', 'header', ''], 'For sources: which of the two functions it is.')),
  event_type: Type.Optional(
    Text(255, `For subscriptions: the type that the function gets; \`${TEST_EVENT_TYPE}\` by default.`),
  ),
});

const TestedFunction = Type.Object({
  payload: AnyJson('The result of the function.'),
  log: Type.Array(Type.String(), { description: 'Lines written to the console.' }),
  duration_ms: Type.Number({ description: 'CPU time used.' }),
  limits: FunctionLimits,
});

const TestedRequest = Type.Object({ ...TestedFunction.properties, ...functionOutcome });

type TestCall = Pick<Call<Static<typeof TestFunction>>, 'project' | 'body' | 'scope'>;

const summary = 'Run a function on a payload and show its result and its log. Nothing is stored.';

export function registerTestFunction(app: FastifyInstance, context: SendContext): void {
  operationsOf('Subscriptions').post(app, '/api/v1/projects/:projectID/subscriptions/test_function', {
    id: 'testSubscriptionFunction',
    summary,
    body: TestFunction,
    message: 'Function run',
    data: TestedRequest,
    portal: 'anyone',
    access: 'developer',
    handle: (call) => testSubscription(context, call),
  });
  operationsOf('Sources').post(app, '/api/v1/projects/:projectID/sources/test_function', {
    id: 'testSourceFunction',
    summary,
    body: TestFunction,
    message: 'Function run',
    data: TestedFunction,
    access: 'developer',
    handle: (call) => testSource(context, call),
  });
}

async function testSource(
  context: SendContext,
  { project, body }: TestCall,
): Promise<Static<typeof TestedFunction>> {
  const result = await context.sandbox.run({
    code: body.function,
    version: functionVersion(body.function),
    tenant: project.id,
    input: JSON.stringify(body.payload ?? null),
    seed: context.ids.next(),
    nowMs: context.now(),
  });
  if (!result.ok) throw refusal(result);
  if (body.type === 'header' && !isTexts(JSON.parse(result.output)))
    throw invalid('function', 'a header function must return an object whose values are strings');
  return { payload: new RawJson(result.output), ...spent(result) };
}

/** A caller with a portal link sees no variables. */
async function testSubscription(
  context: SendContext,
  { project, body, scope }: TestCall,
): Promise<Static<typeof TestedRequest>> {
  const variables = scope === undefined ? project.variables.reveal() : {};
  const called = { code: body.function, variables };
  const input = JSON.stringify(body.payload ?? null);
  const eventType = body.event_type ?? TEST_EVENT_TYPE;
  const subject = { projectId: project.id, eventId: context.ids.next(), eventType };
  const result = await callFunction(context.sandbox, called, { ...subject, input, nowMs: context.now() });
  if (!result.ok) throw refusal({ ...result, message: hideValues(result.message, variables) });
  const run = functionRun(result, called);
  if (run.kind === 'failed') throw invalid('function', run.reason);
  const json = run.kind === 'made' ? (run.body?.toString() ?? input) : 'null';
  return {
    payload: new RawJson(hideInJson(json, variables)),
    ...spent({ ...result, log: result.log.map((line) => hideInJson(line, variables)) }),
    request: run.kind === 'made' ? shownRequest(run.request, project.config) : null,
    cancelled: run.kind === 'cancelled' ? run.reason : null,
  };
}

function refusal({ ours, message }: Extract<FunctionResult, { ok: false }>): AppError {
  return ours ? new AppError('overloaded', { retry: 1 }) : invalid('function', message);
}

function spent(result: FunctionResult) {
  const limits = completeLimits();
  return {
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
