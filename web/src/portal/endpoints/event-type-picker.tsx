import type { EventType } from 'posthorn-client';
import { useState } from 'react';
import { exampleOf } from '../../data/example.ts';
import { useEventTypes } from '../../parts/event-types.ts';
import { useWords } from '../../parts/words.ts';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { useLink } from '../link.ts';

const FIELD = 'types';
/** A longer list has a search. */
const SHORT = 8;

/** The event types of a form: all of them, or those of the catalogue that are ticked, or those that are typed. */
export function EventTypePicker({ chosen }: { chosen: readonly string[] }) {
  const { endpoints: t, eventTypes } = useWords();
  const link = useLink();
  const types = useEventTypes();
  const mayAll = link.event_types.length === 0;
  const [isAll, setAll] = useState(mayAll && (chosen.length === 0 || chosen.includes('*')));
  const [find, setFind] = useState('');
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
      {!isAll && known.length > SHORT && (
        <input
          aria-label={eventTypes.find}
          placeholder={eventTypes.find}
          value={find}
          onChange={(event) => setFind(event.target.value)}
          // Enter would send the form.
          onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
          className="field w-full"
        />
      )}
      {!isAll && (
        <div className="grid max-h-80 grid-cols-1 gap-2 overflow-auto rounded-md border border-line p-2">
          {others.map((name) => (
            <Check key={name} label={name} name={FIELD} value={name} defaultChecked={chosen.includes(name)} />
          ))}
          {known.map((type) => (
            <Choice
              key={type.name}
              type={type}
              isChosen={chosen.includes(type.name)}
              isFound={`${type.name} ${type.description}`.toLowerCase().includes(find.trim().toLowerCase())}
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

interface ChoiceProps {
  type: EventType;
  isChosen: boolean;
  /** The others are hidden and keep their ticks. */
  isFound: boolean;
}

/** An event type with its meaning. The example is made when the reader asks for it. */
function Choice({ type: { name, description, json_schema }, isChosen, isFound }: ChoiceProps) {
  const { eventTypes: t } = useWords();
  const [open, setOpen] = useState(false);
  const example = open ? exampleOf(json_schema) : undefined;
  return (
    <div hidden={!isFound}>
      <Check
        label={name}
        hint={description || undefined}
        name={FIELD}
        value={name}
        defaultChecked={isChosen}
      />
      {json_schema !== null && (
        <details className="ml-6 text-xs" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="link w-fit">
            {t.example}
            <span className="sr-only">: {name}</span>
          </summary>
          {open && (
            <div className="py-1">
              {example === undefined ? (
                <p className="text-muted">{t.noExample}</p>
              ) : (
                <CodeBlock label={`${t.example}: ${name}`} text={JSON.stringify(example, null, 2)} />
              )}
            </div>
          )}
        </details>
      )}
    </div>
  );
}
