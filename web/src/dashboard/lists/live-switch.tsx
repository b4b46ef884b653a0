import { Button } from '../../ui/controls/button.tsx';

export function LiveSwitch({ live, onChange }: { live: boolean; onChange(live: boolean): void }) {
  return (
    <Button look="quiet" icon={live ? 'pause' : 'play'} onClick={() => onChange(!live)} aria-pressed={live}>
      {live ? 'Live' : 'Paused'}
    </Button>
  );
}
