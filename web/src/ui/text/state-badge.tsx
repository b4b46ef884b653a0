import { Icon, type IconName } from './icon.tsx';

const TONES = {
  ok: 'text-ok',
  bad: 'text-bad',
  run: 'text-run',
  retry: 'text-retry',
  held: 'text-held',
  off: 'text-off',
  due: 'text-due',
  lost: 'text-lost',
} as const;

export type Tone = keyof typeof TONES;

/** A state has a colour, a shape and a word. */
export interface StateLook {
  tone: Tone;
  shape: IconName;
  word: string;
}

export function StateBadge({ look, title }: { look: StateLook; title?: string | undefined }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 align-middle whitespace-nowrap ${TONES[look.tone]}`}
      title={title}
    >
      <Icon name={look.shape} className="size-3.5" />
      {look.word}
    </span>
  );
}
