import type { Project } from 'posthorn-client';
import { TextArea } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { Section } from '../../ui/page/section.tsx';

type Variables = Project['variables'];

/** Values that functions read. The server shows none, so a value that is left as it is stays. */
export const VariableFields = ({ variables }: { variables: Variables }) => (
  <Section title="Functions">
    <TextArea
      label="Variables"
      name="variables"
      rows={Math.max(3, Object.keys(variables).length + 1)}
      autoComplete="off"
      spellCheck={false}
      className="font-mono"
      defaultValue={Object.entries(variables)
        .map(([name, value]) => `${name}=${value}`)
        .join('\n')}
      hint="One NAME=value on a line, for functions of subscriptions. Values are stored sealed; *** keeps a value."
    />
  </Section>
);

/** The lines of the field. */
export function variablesOf(form: FormData): Variables {
  const lines = formText(form, 'variables')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = ''] = line.split('=', 1);
      return [name.trim(), line.slice(name.length + 1)];
    }),
  );
}
