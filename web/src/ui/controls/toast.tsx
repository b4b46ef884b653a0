import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { useUiWords } from '../text/words.ts';
import { IconButton } from './button.tsx';

interface Toast {
  id: number;
  text: ReactNode;
  bad: boolean;
}

type Show = (text: ReactNode, bad?: boolean) => void;
const Context = createContext<Show>(() => undefined);
const SHOWN_MS = 6000;
let nextId = 0;

export const useToast = (): Show => useContext(Context);

export function ToastProvider({ children }: { children: ReactNode }) {
  const words = useUiWords();
  const [toasts, setToasts] = useState<Toast[]>([]);
  const drop = useCallback((id: number) => setToasts((all) => all.filter((one) => one.id !== id)), []);
  const show = useCallback<Show>(
    (text, bad = false) => {
      const id = nextId++;
      setToasts((all) => [...all.slice(-3), { id, text, bad }]);
      setTimeout(() => drop(id), SHOWN_MS);
    },
    [drop],
  );
  return (
    <Context.Provider value={show}>
      {children}
      <div aria-live="polite" className="fixed right-4 bottom-4 z-50 grid max-w-[calc(100vw-2rem)] gap-2">
        {toasts.map(({ id, text, bad }) => (
          <div
            key={id}
            className={`flex items-center gap-3 rounded-md border bg-raised py-1 pr-1 pl-3 shadow-md ${bad ? 'border-bad text-bad' : 'border-line'}`}
          >
            <span>{text}</span>
            <IconButton icon="cross" label={words.dismiss} onClick={() => drop(id)} />
          </div>
        ))}
      </div>
    </Context.Provider>
  );
}
