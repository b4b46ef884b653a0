import type { UpdateProjectBody } from 'posthorn-client';
import { typedSchedule } from '../../data/retry-times.ts';
import { formList, formText } from '../../ui/controls/form-text.ts';
import { breakerOf } from './breaker-fields.tsx';
import { eventSettingsOf } from './event-fields.tsx';
import { variablesOf } from './variable-fields.tsx';

/** The form as a change of the project. Meta events without an address and types are left as they are. */
export function changedProject(form: FormData): UpdateProjectBody {
  const text = (name: string): string => formText(form, name);
  const number = (name: string): number => Number(text(name));
  const isOn = (name: string): boolean => form.get(name) !== null;
  const meta =
    text('metaUrl') === '' && !isOn('meta')
      ? {}
      : {
          meta_event: {
            is_enabled: isOn('meta'),
            type: 'http' as const,
            url: text('metaUrl'),
            event_type: formList(form, 'metaTypes'),
            ...(text('metaSecret') !== '' && { secret: text('metaSecret') }),
          },
        };
  return {
    name: text('name'),
    variables: variablesOf(form),
    config: {
      strategy: {
        type: text('strategy') as 'linear' | 'exponential',
        duration: number('wait'),
        retry_count: number('tries'),
        schedule: typedSchedule(text('schedule')),
      },
      final_status_codes: formList(form, 'finalCodes').map(Number),
      disable_endpoint: isOn('disable'),
      disable_after: text('disableAfter'),
      ratelimit: { count: number('count'), duration: number('seconds') },
      max_payload_read_size: number('payload'),
      http_timeout: number('timeout'),
      retention_policy: { policy: text('retention') },
      signature: {
        header: text('header'),
        schemes: form.getAll('schemes') as ('convoy' | 'standard')[],
      },
      replay_attacks_prevention_enabled: isOn('replay'),
      ssl: { enforce_secure_endpoints: isOn('https') },
      require_second_factor: isOn('secondFactor'),
      hide_payload_from_viewers: isOn('hidePayload'),
      ...breakerOf(form),
      ...eventSettingsOf(form),
      ...meta,
    },
  };
}
