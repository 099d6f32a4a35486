import type { Observed } from '../../tell/observers.ts'
import { etherExact, sentence, type Text, type TextContext } from './text.ts'
import { lastingText, localTime } from './time.ts'

/** The GasTank, and trouble with services, chains and clocks. */

const DEPOSIT =
  '`tranched gastank status` shows it; `tranched gastank deposit AMOUNT --yes` adds to it while the daemon is stopped.'

export function gasTankLowText({ account, available }: Observed<'gas-tank-low'>): Text {
  return {
    subject: `The GasTank has ${etherExact(available)} left`,
    lines: [
      `That is less than \`gasTank.alertBelow\` asks for, account ${account}. When it is empty, the service refuses calls.`,
      DEPOSIT,
    ],
  }
}

export function fundsUnknownText({ account, message }: Observed<'gas-tank-unknown'>): Text {
  return {
    subject: 'Nobody knows what the GasTank has: the service refuses our login',
    lines: [
      ...sentence(message),
      `Nothing is topped up for ${account} until it is accepted again.`,
      'Check `aggregator.wire.signatureHeader` and the wallet; `tranched gastank status` tries it.',
    ],
  }
}

export function topUpCappedText({ account }: Observed<'top-up-capped'>): Text {
  return {
    subject: "The GasTank is low, and today's top-ups are used up",
    lines: [
      `\`gasTank.topUp.maxPerDay\` is reached, account ${account}. The next top-up is made when the day allows it.`,
      DEPOSIT,
    ],
  }
}

export function topUpBarredText({ account, message }: Observed<'top-up-barred'>): Text {
  return {
    subject: 'The GasTank is low, and is not topped up',
    lines: [...sentence(message), `Account ${account}. ${DEPOSIT}`],
  }
}

/** What may be in trouble for a while. */
export type TroubleKind = 'gasless' | 'aggregator' | 'chain' | 'nodes' | 'clocks'

export type Trouble = {
  readonly kind: TroubleKind
  /** When it was first seen, and now. */
  readonly sinceMs: number
  readonly atMs: number
  /** What was last seen of it. */
  readonly detail: string
}

const TROUBLES: Readonly<Record<TroubleKind, { readonly is: string; readonly means: string }>> = {
  gasless: {
    is: 'The swap service gives no usable answer',
    means:
      'Slots that need a quote wait, as long as they may be late. What is signed is looked for on the chain.',
  },
  aggregator: {
    is: 'The aggregation service gives no usable answer',
    means: 'Calls wait, or go directly where `aggregator.fallback` says so.',
  },
  chain: {
    is: 'A chain can hardly be read',
    means: 'What is due waits, as long as it may be late, and nothing is concluded meanwhile.',
  },
  nodes: {
    is: 'The nodes of a chain disagree',
    means: 'Nothing is concluded before they say the same; what is signed is followed meanwhile.',
  },
  clocks: {
    is: 'The clocks of the machine, the service and the chain disagree',
    means: 'Nothing is signed until they agree. Look at the time of the machine (NTP) first.',
  },
}

const LOOK: Readonly<Record<TroubleKind, string>> = {
  gasless: 'Look at its status page, and at `gasless.baseUrl`.',
  aggregator: 'Look at its status page, and at `aggregator.rpcUrl`.',
  chain: 'Look at the addresses under `chains.*.rpcUrls`; a second one helps.',
  nodes: 'Look at the addresses under `chains.*.rpcUrls`: one of them is behind, or wrong.',
  clocks: '`tranched status` shows what waits.',
}

export function troubleText(
  { kind, sinceMs, atMs, detail }: Trouble,
  { timezone }: TextContext,
): Text {
  return {
    subject: `${TROUBLES[kind].is}, for ${lastingText(atMs - sinceMs)} now`,
    lines: [
      `Since ${localTime(sinceMs, timezone)}.`,
      ...sentence(detail),
      TROUBLES[kind].means,
      LOOK[kind],
    ],
  }
}

/** What to say of each when it is over. */
export const TROUBLE_OVER: Readonly<Record<TroubleKind, string>> = {
  gasless: 'The swap service answers again',
  aggregator: 'The aggregation service answers again',
  chain: 'No more trouble with the chain',
  nodes: 'The nodes do not disagree any more',
  clocks: 'The clocks agree again',
}
