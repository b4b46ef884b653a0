import type { PartialProjectConfig, Project } from 'posthorn-client';
import { TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { Section } from '../../ui/page/section.tsx';

type Breaker = Project['config']['circuit_breaker'];

const FIELDS: readonly [name: keyof Breaker, label: string, hint: string][] = [
  ['failure_threshold', 'Opens at failures, %', 'Of the attempts of the endpoint.'],
  ['minimum_request_count', 'from attempts', 'With fewer it does not open.'],
  ['observability_window', 'within minutes', 'Older attempts do not count.'],
  ['sample_rate', 'Looked at every, seconds', 'While an endpoint fails.'],
  ['error_timeout', 'Probe after, seconds', 'Deliveries wait until then.'],
  ['success_threshold', 'Closes at probes, %', 'Of the attempts above. They must succeed.'],
  ['consecutive_failure_threshold', 'Disable after openings', 'In a row, if endpoints are disabled.'],
];

/** When deliveries to an endpoint that fails wait. */
export const BreakerFields = ({ breaker }: { breaker: Breaker }) => (
  <Section title="Circuit breaker">
    <div className="grid gap-4 sm:grid-cols-3">
      {FIELDS.map(([name, label, hint]) => (
        <TextField
          key={name}
          {...{ label, hint }}
          name={`config.circuit_breaker.${name}`}
          type="number"
          min="1"
          required
          defaultValue={breaker[name]}
        />
      ))}
    </div>
  </Section>
);

/** The breaker, from the fields of the form. */
export function breakerOf(form: FormData): PartialProjectConfig {
  const values = FIELDS.map(([name]) => [name, Number(formText(form, `config.circuit_breaker.${name}`))]);
  return { circuit_breaker: Object.fromEntries(values) as Breaker };
}
