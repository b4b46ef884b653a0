import { CopyButton, CopyIcon } from '../ui/text/copy.tsx';
import { Icon, type IconName } from '../ui/text/icon.tsx';
import { Id } from '../ui/text/id.tsx';
import { Link } from '../ui/text/link.tsx';
import { count, percent } from '../ui/text/numbers.ts';
import { StateBadge, type StateLook } from '../ui/text/state-badge.tsx';
import { Time, TimeStyleContext } from '../ui/text/time.tsx';
import { Line, LONG, Specimen } from './specimen.tsx';

const ICONS: IconName[] = [
  'check',
  'cross',
  'arrow',
  'again',
  'clock',
  'pause',
  'slash',
  'ring',
  'search',
  'copy',
  'menu',
  'plus',
  'chevron',
  'down',
  'play',
  'sun',
  'moon',
  'screen',
  'horn',
];

const STATES: StateLook[] = [
  { tone: 'ok', shape: 'check', word: 'Delivered' },
  { tone: 'bad', shape: 'cross', word: 'Failed' },
  { tone: 'retry', shape: 'again', word: 'Waiting to retry' },
  { tone: 'run', shape: 'arrow', word: 'In flight' },
  { tone: 'held', shape: 'pause', word: 'Held' },
  { tone: 'off', shape: 'slash', word: 'Discarded' },
];

const secondsAgo = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();

export function TextParts() {
  return (
    <>
      <Specimen name="State badge">
        {() => (
          <Line>
            {STATES.map((look) => (
              <StateBadge key={look.word} look={look} />
            ))}
          </Line>
        )}
      </Specimen>
      <Specimen name="Icon">
        {() => (
          <Line>
            {ICONS.map((name) => (
              <span key={name} title={name}>
                <Icon name={name} />
              </span>
            ))}
          </Line>
        )}
      </Specimen>
      <Specimen name="Id, link, copy, numbers">
        {() => (
          <>
            <Line>
              <Id value="01K9ZQ5T3E8W4V7X2Y6B0C1D2F" />
              <Id value="short" copy={false} />
              <Id value="01K9ZQ5T3E8W4V7X2Y6B0C1D2F" href="/" />
              <Id value="" />
            </Line>
            <Line>
              <Link href="/" className="link">
                A link
              </Link>
              <CopyIcon text="text" what="text" />
              <CopyButton text={LONG}>Copy as curl</CopyButton>
            </Line>
            <Line>
              <span>{count(1_234_567)}</span>
              <span>{count(null)}</span>
              <span>{percent(0.4)}</span>
              <span>{percent(undefined)}</span>
            </Line>
          </>
        )}
      </Specimen>
      <Specimen name="Time">
        {() => (
          <>
            <Line>
              {[0, 59, 3_000, 90_000, -240].map((seconds) => (
                <Time key={seconds} at={secondsAgo(seconds)} />
              ))}
              <Time at={null} none="never" />
            </Line>
            <TimeStyleContext.Provider value={{ exact: true, utc: true }}>
              <Time at={secondsAgo(3_000)} />
            </TimeStyleContext.Provider>
          </>
        )}
      </Specimen>
    </>
  );
}
