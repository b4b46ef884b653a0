import { invalid } from '../../domain/errors.ts';
import type { ApiContext } from './context.ts';

/** Checks a URL that we may call: well formed, and allowed by the egress rule as far as the URL alone shows. */
export function checkUrl(context: Pick<ApiContext, 'checkUrl'>, field: string, url: string): void {
  checkHttpUrl(field, url);
  const verdict = context.checkUrl(url);
  if (!verdict.allowed) throw invalid(field, verdict.reason);
}

export function checkHttpUrl(field: string, url: string): void {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw invalid(field, 'must be an http or https URL with a host');
}
