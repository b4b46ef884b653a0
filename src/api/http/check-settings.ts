import { AppError, invalid } from '../../domain/errors.ts';
import { functionContract } from '../../routing/function-contract.ts';
import type { ReadContext, SendContext } from './context.ts';
import { MASK } from './portal-view.ts';

/** Checks a URL that we may call: well formed, and allowed by the egress rule as far as the URL alone shows. */
export function checkUrl(context: Pick<ReadContext, 'checkUrl'>, field: string, url: string): void {
  checkHttpUrl(field, url);
  const verdict = context.checkUrl(url);
  if (!verdict.allowed) throw invalid(field, verdict.reason);
}

export function checkHttpUrl(field: string, url: string): void {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw invalid(field, 'must be an http or https URL with a host');
}

/** Checks the function of a subscription, which may ask for another contract. */
export async function checkSubscriptionFunction(
  context: SendContext,
  given: { projectId: string; code: string },
): Promise<void> {
  const contract = functionContract(given.code);
  if (!contract.ok) throw invalid('function', contract.message);
  await checkFunction(context, 'function', { ...given, code: contract.script });
}

/** Refuses a function that does not compile or defines no `transform`, with the line of the mistake. */
export async function checkFunction(
  context: SendContext,
  field: string,
  given: { projectId: string; code: string },
): Promise<void> {
  if (given.code === '') return;
  const check = await context.sandbox.check(given.code, given.projectId);
  if (check.ok) return;
  if (check.ours) throw new AppError('overloaded', { retry: 1 });
  throw invalid(field, check.line === undefined ? check.message : `line ${check.line}: ${check.message}`);
}

const CODE = new Set(['function', 'body_function', 'header_function']);

/** Callers who may not see code get it masked. If they write it back, it counts as not named: the function stays. */
export function withoutMaskedCode<Body extends object>(body: Body): Body {
  const named = Object.entries(body).filter(([name, value]) => !(CODE.has(name) && value === MASK));
  return Object.fromEntries(named) as Body;
}
