import { type ComponentProps, type ReactNode, useContext, useId } from 'react';
import { FieldProblems } from './field-problems.ts';

interface Labelled {
  label: string;
  /** An explanation below the field. */
  hint?: ReactNode;
  error?: string | undefined;
}

function Frame({ label, hint, error, id, children }: Labelled & { id: string; children: ReactNode }) {
  return (
    <div className="grid content-start gap-1">
      <label htmlFor={id} className="font-semibold">
        {label}
      </label>
      {children}
      {error !== undefined && (
        <p id={`${id}-note`} role="alert" className="text-bad">
          {error}
        </p>
      )}
      {error === undefined && hint !== undefined && (
        <p id={`${id}-note`} className="text-xs text-muted">
          {hint}
        </p>
      )}
    </div>
  );
}

const described = ({ hint, error }: Labelled, id: string) =>
  hint === undefined && error === undefined
    ? {}
    : { 'aria-describedby': `${id}-note`, 'aria-invalid': error !== undefined };

/** The problem of a field, from its form. */
function useProblem(name: string | undefined): string | undefined {
  return useContext(FieldProblems)[name ?? ''];
}

export function TextField({ label, hint, error: own, ...rest }: Labelled & ComponentProps<'input'>) {
  const id = useId();
  const error = useProblem(rest.name) ?? own;
  return (
    <Frame {...{ label, hint, error, id }}>
      <input
        id={id}
        type="text"
        {...described({ label, hint, error }, id)}
        {...rest}
        className={`field w-full ${rest.className ?? ''}`}
      />
    </Frame>
  );
}

export function TextArea({ label, hint, error: own, ...rest }: Labelled & ComponentProps<'textarea'>) {
  const id = useId();
  const error = useProblem(rest.name) ?? own;
  return (
    <Frame {...{ label, hint, error, id }}>
      <textarea
        id={id}
        rows={6}
        spellCheck={false}
        {...described({ label, hint, error }, id)}
        {...rest}
        className="field h-auto w-full py-1.5 font-mono text-xs"
      />
    </Frame>
  );
}

export type Choice = readonly [value: string, label: string];

export function SelectField({
  label,
  hint,
  error: own,
  choices,
  ...rest
}: Labelled & ComponentProps<'select'> & { choices: readonly Choice[] }) {
  const id = useId();
  const error = useProblem(rest.name) ?? own;
  return (
    <Frame {...{ label, hint, error, id }}>
      <select id={id} {...described({ label, hint, error }, id)} {...rest} className="field w-full">
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Frame>
  );
}

export function Check({
  label,
  hint,
  ...rest
}: { label: string; hint?: ReactNode } & ComponentProps<'input'>) {
  const id = useId();
  return (
    <div className="flex items-start gap-2">
      <input id={id} type="checkbox" {...rest} className="mt-0.5 size-4 shrink-0 accent-accent" />
      <label htmlFor={id}>
        {label}
        {hint !== undefined && <span className="block text-xs text-muted">{hint}</span>}
      </label>
    </div>
  );
}

/** Fields that few need, folded away. */
export function Fold({ title, open, children }: { title: string; open?: boolean; children: ReactNode }) {
  return (
    <details open={open}>
      <summary className="link w-fit">{title}</summary>
      <div className="mt-3 grid grid-cols-1 gap-4 border-l-2 border-line pl-4">{children}</div>
    </details>
  );
}
