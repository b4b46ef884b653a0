import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react';
import { useUiWords } from '../text/words.ts';
import { Button, IconButton } from './button.tsx';
import { isCommand, isTyping } from './keys.ts';

interface Options {
  bad?: boolean;
  /** Takes back what the toast tells of. Undefined: it cannot be taken back. */
  undo?: (() => void) | undefined;
}

interface Toast extends Options {
  id: number;
  text: ReactNode;
}

type Show = (text: ReactNode, options?: Options) => void;
const Context = createContext<Show>(() => undefined);
const SHOWN_MS = 6000;
const SHOWN_WITH_UNDO_MS = 12_000;
let nextId = 0;

export const useToast = (): Show => useContext(Context);

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const drop = useCallback((id: number) => setToasts((all) => all.filter((one) => one.id !== id)), []);
  const show = useCallback<Show>((text, options = {}) => {
    setToasts((all) => [...all.slice(-3), { id: nextId++, text, ...options }]);
  }, []);
  const last = toasts.findLast(({ undo }) => undo !== undefined);
  useEffect(() => {
    if (last === undefined) return undefined;
    const undoByKey = (event: KeyboardEvent) => {
      // In a field it is the field that undoes.
      if (!isCommand(event, 'z') || isTyping(event)) return;
      event.preventDefault();
      drop(last.id);
      last.undo?.();
    };
    addEventListener('keydown', undoByKey);
    return () => removeEventListener('keydown', undoByKey);
  }, [last, drop]);
  return (
    <Context.Provider value={show}>
      {children}
      <div aria-live="polite" className="fixed right-4 bottom-4 z-50 grid max-w-[calc(100vw-2rem)] gap-2">
        {toasts.map((toast) => (
          <ToastView key={toast.id} toast={toast} onEnd={drop} />
        ))}
      </div>
    </Context.Provider>
  );
}

/** It stays while the pointer or the focus is in it. When it ends the focus goes back to where it came from. */
function ToastView({
  toast: { id, text, bad = false, undo },
  onEnd,
}: {
  toast: Toast;
  onEnd(id: number): void;
}) {
  const words = useUiWords();
  const [hovered, setHovered] = useState(false);
  const [focused, setFocused] = useState(false);
  const from = useRef<EventTarget | null>(null);
  const stays = hovered || focused;
  const shownMs = undo === undefined ? SHOWN_MS : SHOWN_WITH_UNDO_MS;
  useEffect(() => {
    if (stays) return undefined;
    const timer = setTimeout(() => onEnd(id), shownMs);
    return () => clearTimeout(timer);
  }, [stays, shownMs, id, onEnd]);
  const end = () => {
    if (from.current instanceof HTMLElement) from.current.focus();
    onEnd(id);
  };
  return (
    <div
      onPointerEnter={() => setHovered(true)}
      onPointerLeave={() => setHovered(false)}
      onFocus={({ relatedTarget }) => {
        if (!focused) from.current = relatedTarget;
        setFocused(true);
      }}
      onBlur={({ currentTarget, relatedTarget }) => setFocused(currentTarget.contains(relatedTarget))}
      className={`flex items-center gap-3 rounded-md border bg-raised py-1 pr-1 pl-3 shadow-md ${bad ? 'border-bad text-bad' : 'border-line'}`}
    >
      <span className="grow">{text}</span>
      {undo !== undefined && (
        <Button
          look="quiet"
          className="h-7 px-2"
          title="Ctrl+Z"
          aria-keyshortcuts="Control+Z"
          onClick={() => {
            end();
            undo();
          }}
        >
          {words.undo}
        </Button>
      )}
      <IconButton icon="cross" label={words.dismiss} onClick={end} />
    </div>
  );
}
