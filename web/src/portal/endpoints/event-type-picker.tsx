import { useState } from 'react';
import { useEventTypes } from '../../parts/event-types.ts';
import { useWords } from '../../parts/words.ts';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { useLink } from '../link.ts';

const FIELD = 'types';

/** The event types of a form: all of them, or those of the catalogue that are ticked, or those that are typed. */
export function EventTypePicker({ chosen }: { chosen: readonly string[] }) {
  const { endpoints: t } = useWords();
  const link = useLink();
  const types = useEventTypes();
  const mayAll = link.event_types.length === 0;
  const [isAll, setAll] = useState(mayAll && (chosen.length === 0 || chosen.includes('*')));
  const known = (types.data ?? []).filter(({ deprecated_at }) => deprecated_at === null);
  // Also what is chosen or allowed and is no name of the catalogue, such as `invoice.*`.
  const others = [...new Set([...link.event_types, ...chosen])].filter(
    (name) => name !== '*' && !known.some((type) => type.name === name),
  );
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1 font-semibold">{t.types}</legend>
      {mayAll && (
        <Check
          label={t.allTypes}
          hint={t.allTypesHint}
          name={FIELD}
          value="*"
          checked={isAll}
          onChange={(event) => setAll(event.target.checked)}
        />
      )}
      {!isAll && (
        <div className="grid max-h-64 gap-2 overflow-auto rounded-md border border-line p-2">
          {others.map((name) => (
            <Check key={name} label={name} name={FIELD} value={name} defaultChecked={chosen.includes(name)} />
          ))}
          {known.map(({ name, description }) => (
            <Check
              key={name}
              label={name}
              hint={description || undefined}
              name={FIELD}
              value={name}
              defaultChecked={chosen.includes(name)}
            />
          ))}
          {known.length === 0 && mayAll && (
            <TextField label={t.someTypes} name="typed" placeholder="invoice.paid, customer.*" />
          )}
        </div>
      )}
    </fieldset>
  );
}
