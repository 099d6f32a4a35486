import { fullAmount, shareText, shortAmount } from '../../../page-parts/words/amounts.ts'
import type { LimitRow } from '../../model.ts'
import { strategyHash } from '../route.ts'
import { shareTone, windowText } from '../words/phrases.ts'
import { Meter } from './meter.tsx'
import { Until } from './words.tsx'

/** A few caps, each with its bar. `named` says whose each is. */
export function Caps({ limits, named = false }: { limits: readonly LimitRow[]; named?: boolean }) {
  return (
    <ul class="caps">
      {limits.map((limit) => (
        <li key={`${limit.strategy ?? ''}:${limit.token}:${limit.window}`}>
          {named && <Whose strategy={limit.strategy} />}
          <p class="used">
            <span title={`${fullAmount(limit.used)} of ${fullAmount(limit.cap)} ${limit.token}`}>
              {shortAmount(limit.used)} of {shortAmount(limit.cap)}{' '}
              <span class="token">{limit.token}</span>
            </span>{' '}
            {windowText(limit.window)}
          </p>
          <p class="share">{shareText(limit)}</p>
          <Meter
            share={limit.share}
            tone={shareTone(limit)}
            label={`${limit.strategy ?? 'Account'}, ${limit.token} ${windowText(limit.window)}`}
          />
          {limit.freesAtMs !== null && (
            <p class="small">
              begins to free <Until atMs={limit.freesAtMs} />
            </p>
          )}
        </li>
      ))}
    </ul>
  )
}

function Whose({ strategy }: { strategy: string | null }) {
  if (strategy === null) return <p class="whose">Account</p>
  return (
    <p class="whose">
      <a href={strategyHash(strategy)}>{strategy}</a>
    </p>
  )
}
