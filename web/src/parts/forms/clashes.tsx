import { createContext, type ReactNode, useCallback, useState } from 'react';
import type { Clash } from '../../data/edit/save-change.ts';
import { FieldError } from '../../data/field-error.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Dialog } from '../../ui/controls/dialog.tsx';
import type { Messages } from '../languages/en.ts';
import { useWords } from '../words.ts';

interface Shown {
  name: string;
  label: string;
  mine: string;
  theirs: string;
}

type Ask = (clashes: readonly Shown[]) => Promise<ReadonlySet<string>>;

/** Shows both values of fields that two have changed. Answers with those that stay as the other one left them. */
export const ClashContext = createContext<Ask>(() => Promise.reject(new Error('there is no one to ask')));

interface Asked {
  clashes: readonly Shown[];
  answer(theirs: ReadonlySet<string>): void;
  giveUp(): void;
}

export function ClashProvider({ children }: { children: ReactNode }) {
  const { clash: t } = useWords();
  const [asked, setAsked] = useState<Asked>();
  const ask = useCallback<Ask>(
    (clashes) =>
      new Promise<ReadonlySet<string>>((answer, refuse) => {
        setAsked({
          clashes,
          answer,
          giveUp: () => refuse(new FieldError({ field: '', problem: t.notSaved })),
        });
      }).finally(() => setAsked(undefined)),
    [t],
  );
  return (
    <ClashContext.Provider value={ask}>
      {children}
      {asked !== undefined && <Clashes {...asked} />}
    </ClashContext.Provider>
  );
}

function Clashes({ clashes, answer, giveUp }: Asked) {
  const { clash: t, ui } = useWords();
  const submit = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    answer(new Set(clashes.map(({ name }) => name).filter((name) => form.get(name) === 'theirs')));
  };
  return (
    <Dialog title={t.title} onClose={giveUp} wide>
      <form onSubmit={submit} className="grid grid-cols-1 gap-4">
        <p>{t.text}</p>
        {clashes.map(({ name, label, mine, theirs }) => (
          <fieldset key={name}>
            <legend className="mb-1 font-semibold">{label}</legend>
            <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
              <Value name={name} value="mine" title={t.mine} text={mine} />
              <Value name={name} value="theirs" title={t.theirs} text={theirs} />
            </div>
          </fieldset>
        ))}
        <div className="flex justify-end gap-2">
          <Button onClick={giveUp}>{ui.cancel}</Button>
          <Button type="submit" look="main">
            {t.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** One of two values. Neither is chosen before the reader does. */
function Value({ name, value, title, text }: Record<'name' | 'value' | 'title' | 'text', string>) {
  return (
    <label className="flex min-w-0 cursor-pointer items-start gap-2 rounded-md border border-frame p-2 has-checked:border-accent has-checked:bg-chosen">
      <input type="radio" {...{ name, value }} required className="mt-0.5 size-4 shrink-0 accent-accent" />
      <span className="min-w-0">
        <span className="block text-xs text-muted">{title}</span>
        <span className="block max-h-48 overflow-auto break-words whitespace-pre-wrap">{text}</span>
      </span>
    </label>
  );
}

interface Place {
  form: HTMLFormElement | undefined;
  labels: Readonly<Record<string, string>>;
  words: Messages;
}

/** Values that are secret also where the form has no field for them. */
const SECRET = /secret|password|_key|header_value|connection_url/;

type Field = HTMLInputElement | HTMLTextAreaElement;

/** The fields with the labels of their form, and their values as text. What is typed into a secret field stays hidden. */
export function shownClashes(clashes: readonly Clash[], { form, labels, words }: Place): Shown[] {
  const inputs = [...(form?.elements ?? [])] as Field[];
  const labelOf = (name: string) =>
    inputs.find((one) => one.name === name || one.name?.startsWith(`${name}.`))?.labels?.[0]?.firstChild
      ?.textContent;
  const secrets = inputs
    .filter(
      ({ type, autocomplete }) => type === 'password' || (type === 'textarea' && autocomplete === 'off'),
    )
    .map(({ name }) => name);
  const isSecret = (path: string) =>
    SECRET.test(path) || secrets.some((secret) => `${path}.`.startsWith(`${secret}.`));
  const text = (name: string, value: unknown) => {
    const leaves = leavesOf(value, name);
    const line = ([path, leaf]: Leaf) => (isSecret(path) ? '•••' : leafText(leaf, words));
    if (leaves.length === 0) return words.ui.none;
    // The name of the field itself is above it.
    return leaves
      .map((leaf) => (leaf[0] === name ? line(leaf) : `${leaf[0].slice(name.length + 1)}: ${line(leaf)}`))
      .join('\n');
  };
  return clashes.map(({ name, mine, theirs }) => ({
    name,
    label: labels[name] ?? labelOf(name) ?? name,
    mine: text(name, mine),
    theirs: text(name, theirs),
  }));
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && !(value instanceof Date) && Object.keys(value).length === 0);

type Leaf = readonly [path: string, value: unknown];

/** The values within a value, by their paths. Empty ones are left out. */
function leavesOf(value: unknown, path: string): Leaf[] {
  if (isEmpty(value)) return [];
  const isWhole = typeof value !== 'object' || value instanceof Date || Array.isArray(value);
  if (isWhole) return [[path, value]];
  return Object.entries(value as object).flatMap(([name, part]) => leavesOf(part, `${path}.${name}`));
}

function leafText(value: unknown, { clash }: Messages): string {
  if (typeof value === 'boolean') return value ? clash.yes : clash.no;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'string') return value;
  const isPlain = Array.isArray(value) && value.every((one) => typeof one !== 'object');
  return isPlain ? value.join(', ') : JSON.stringify(value);
}
