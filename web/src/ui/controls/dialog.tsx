import {
  type ChangeEvent,
  type FormEvent,
  isValidElement,
  type ReactElement,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { useUiWords } from '../text/words.ts';
import { Button, IconButton } from './button.tsx';
import { type FieldProblem, FieldProblems, placeProblems, withoutProblem } from './field-problems.ts';

interface Props {
  title: string;
  onClose(): void;
  children: ReactNode;
  wide?: boolean;
}

const FIELDS = 'input:not([type=hidden]), select, textarea';

/** A modal dialog of the browser: it traps the focus, closes on Escape and gives the focus back. */
export function Dialog({ title, onClose, children, wide = false }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const words = useUiWords();
  useEffect(() => {
    element.current?.showModal();
    // The browser would focus the button that closes it, and typed text would be lost.
    const find = (selector: string) => element.current?.querySelector<HTMLElement>(selector);
    (find('[data-first]') ?? find(FIELDS))?.focus();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onClose={onClose}
      className={`m-auto max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] rounded-md border border-line bg-raised p-0 shadow-lg backdrop:bg-black/45 ${wide ? 'max-w-3xl' : 'max-w-lg'}`}
    >
      <div className="flex items-center justify-between border-b border-line py-2 pr-2 pl-4">
        <h2 id={id} className="text-base">
          {title}
        </h2>
        <IconButton icon="cross" label={words.close} onClick={() => element.current?.close()} />
      </div>
      <div className="p-4">{children}</div>
    </dialog>
  );
}

interface FormProps extends Props {
  action: string;
  danger?: boolean;
  /** An element that it returns takes the place of the dialog. Without one the dialog closes. An error is shown. */
  onSubmit(data: FormData, form: HTMLFormElement): Promise<unknown>;
  /** The form is shown, with what it begins with. */
  onOpen?(data: FormData): void;
  explain(error: unknown): string;
  /** The fields that an error is about. They show it instead, if all of them are in the form. */
  problems?(error: unknown): readonly FieldProblem[];
}

const NO_PROBLEMS = {};

/** A dialog with one act. The button names it, with its object and count. */
export function FormDialog({
  action,
  danger = false,
  onSubmit,
  onOpen,
  explain,
  problems,
  children,
  ...rest
}: FormProps) {
  const wasOpened = useRef(false);
  const open = (form: HTMLFormElement | null) => {
    if (form === null || wasOpened.current) return;
    wasOpened.current = true;
    onOpen?.(new FormData(form));
  };
  const [error, setError] = useState<string>();
  const [wrong, setWrong] = useState<Readonly<Record<string, string>>>(NO_PROBLEMS);
  const [busy, setBusy] = useState(false);
  const [next, setNext] = useState<ReactElement>();
  const words = useUiWords();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    setBusy(true);
    setError(undefined);
    setWrong(NO_PROBLEMS);
    const end = (result: unknown) => (isValidElement(result) ? setNext(result) : rest.onClose());
    onSubmit(new FormData(form), form).then(end, (reason: unknown) => {
      setBusy(false);
      const placed = placeProblems(form, problems?.(reason) ?? []);
      if (placed === undefined) setError(explain(reason));
      else setWrong(placed);
    });
  };
  /** A field that is changed is another one, until it is checked again. */
  const forget = ({ target }: ChangeEvent<HTMLFormElement>) =>
    setWrong((problems) => withoutProblem(problems, target.name));
  if (next !== undefined) return next;
  return (
    <Dialog {...rest}>
      <form ref={open} onSubmit={submit} onChange={forget} className="grid grid-cols-1 gap-4">
        <FieldProblems value={wrong}>{children}</FieldProblems>
        {error !== undefined && (
          <p role="alert" className="text-bad">
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={rest.onClose}>{words.cancel}</Button>
          <Button type="submit" look={danger ? 'danger' : 'main'} busy={busy && words.working}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
