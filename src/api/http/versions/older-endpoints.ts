import { formatGoDuration, parseGoDuration } from '../../../platform/time/duration.ts';
import type { Fields, VersionChange } from './version-change.ts';

const DURATIONS = ['http_timeout', 'rate_limit_duration'];

/** Before 2024-01-01 durations were texts such as `10s`. Validation refuses other texts. */
const secondsAsNumbers: VersionChange = {
  version: '2024-01-01',
  request: (body) =>
    changed(body, DURATIONS, (value) => (typeof value === 'string' ? toSeconds(value) : value)),
  response: (endpoint) => changed(endpoint, DURATIONS, (value) => formatGoDuration((value as number) * 1000)),
};

/** Before 2024-01-01 a new endpoint signed without timestamps by default. */
const advancedByDefault: VersionChange = {
  version: '2024-01-01',
  request: (body) => ({ ...body, advanced_signatures: body['advanced_signatures'] ?? false }),
};

/** Before 2024-04-01 `url` was called target_url and `name` title. */
const shortNames: VersionChange = {
  version: '2024-04-01',
  response: ({ url, name, ...rest }) => ({ ...rest, target_url: url, title: name }),
};

export const endpointChanges: readonly VersionChange[] = [secondsAsNumbers, shortNames];
export const newEndpointChanges: readonly VersionChange[] = [advancedByDefault, ...endpointChanges];

function changed(fields: Fields, names: readonly string[], change: (value: unknown) => unknown): Fields {
  const result = { ...fields };
  for (const name of names) if (result[name] !== undefined) result[name] = change(result[name]);
  return result;
}

function toSeconds(text: string): unknown {
  const ms = parseGoDuration(text);
  return ms === null ? text : Math.floor(ms / 1000);
}
