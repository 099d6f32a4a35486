import { codeText } from '../../../domain/contract.ts'
import { reasonText } from '../../../domain/reason-words.ts'
import type { Observed } from '../../tell/observers.ts'
import { said, sentence, type Text, type TextContext } from './text.ts'
import { lastingText, localTime } from './time.ts'

/** The daemon, its strategies and their slots. */

const SIGNED_GOES_ON = 'Nothing new is signed; what is signed is followed to its end.'

export function pauseText(event: Observed<'pause'>): Text {
  const { strategy, paused } = event
  if (!paused) return resumedText(event)
  return strategy === undefined ? haltedText(event) : pausedText(event, strategy)
}

function haltedText({ cause, detail }: Observed<'pause'>): Text {
  switch (cause) {
    case 'evidence':
      return {
        subject: 'Trading is halted: something happened that no record explains',
        lines: [
          ...sentence(detail),
          `Somebody else may be using the key, or records are lost. ${SIGNED_GOES_ON}`,
          'First `tranched status`, then docs/recovery.md. `tranched resume` only once you know what it was.',
        ],
      }
    case 'failure-streak':
      return {
        subject: 'Trading is halted: too many slots in a row came to nothing',
        lines: [
          ...sentence(detail),
          SIGNED_GOES_ON,
          '`tranched history` shows them; `tranched resume` goes on.',
        ],
      }
    default:
      return {
        subject: 'Trading is halted',
        lines: [...sentence(detail), SIGNED_GOES_ON, '`tranched resume` goes on.'],
      }
  }
}

function pausedText({ cause, detail }: Observed<'pause'>, strategy: string): Text {
  const why = {
    operator: '',
    'failure-streak': ': too many of its slots in a row came to nothing',
    drawdown: ': its value fell too far',
    evidence: ': something happened that no record explains',
  }[cause]
  return {
    subject: `${strategy} is paused${why}`,
    lines: [
      ...sentence(detail),
      'It opens no slots; the other strategies go on.',
      `\`tranched history --strategy ${strategy}\` shows its last slots, \`tranched resume ${strategy}\` goes on.`,
    ],
  }
}

function resumedText({ strategy, detail }: Observed<'pause'>): Text {
  const who = detail === 'resumed' ? [] : sentence(detail)
  if (strategy !== undefined)
    return { subject: `${strategy} goes on`, lines: ['Its pause is over.', ...who] }
  const lines = ['The halt is over. Slots that passed meanwhile are not made up for.', ...who]
  return { subject: 'Trading goes on', lines }
}

export function holdText({ strategy, held, detail }: Observed<'hold'>): Text {
  if (!held) return { subject: `${strategy} goes on`, lines: sentence(detail) }
  return {
    subject: `${strategy} waits for your approval`,
    lines: [
      ...sentence(detail),
      'It opens no slots until then; the other strategies go on.',
      `\`tranched approve ${strategy}\` lets it trade. If it is a mistake, correct its file.`,
    ],
  }
}

export function codeNotice({
  name,
  address,
  status,
  code,
  before,
}: Observed<'contract-code'>): Text {
  const hashes = [
    ...(before === undefined ? [] : [`Before: ${codeText(before)}.`]),
    `Now: ${codeText(code)}.`,
  ]
  if (status !== 'changed') return { subject: `The new code of ${name} is accepted`, lines: hashes }
  return {
    subject: `The code of ${name} has changed`,
    lines: [
      `The contract at ${address} is not what it was when this daemon first saw it.`,
      ...hashes,
      'Nothing that depends on it is signed; what is signed is followed to its end.',
      `Find out who changed it and why. \`tranched approve ${name}\` accepts the new code.`,
    ],
  }
}

export function missedText(event: Observed<'slot-closed'>, { timezone }: TextContext): Text {
  const { strategy, slotSeconds, lastSeconds, count, detail } = event
  const first = localTime(slotSeconds * 1_000, timezone)
  const last = localTime(lastSeconds * 1_000, timezone)
  return {
    subject: `${strategy} missed ${count === 1 ? 'a slot' : `${count ?? 'many'} slots`}`,
    lines: [
      count === 1 ? `It was due ${first}.` : `They were due from ${first} to ${last}.`,
      ...sentence(detail ?? ''),
      'Nobody attended in time, and the file of the strategy does not ask to make up for it.',
      `\`tranched history --strategy ${strategy}\` shows what came before.`,
    ],
  }
}

/** Slots go by while everything is halted. */
export function stillHaltedText({ strategy, detail }: Observed<'slot-closed'>): Text {
  return {
    subject: 'Trading is still halted',
    lines: [
      `A slot of ${strategy} was skipped for it.`,
      ...sentence(detail ?? ''),
      '`tranched status` shows why, `tranched resume` goes on.',
    ],
  }
}

export function skippedForFundsText({ strategy, reason, detail }: Observed<'slot-closed'>): Text {
  return {
    subject: `${strategy} skipped a slot: ${reasonText(reason)}`,
    lines: [
      ...sentence(detail ?? ''),
      'Once the wallet has enough, the next slot goes on by itself.',
      `\`tranched plan ${strategy}\` shows what it takes.`,
    ],
  }
}

const PLACE = /^\S+:\d+:\d+ /
const PLACES_MAX = 3

/** Of what was wrong with the files, the lines that say where; what they quote of the files stays on the machine. */
export function filesRefusedText({ files, detail }: Observed<'files-stale'>): Text {
  const lines = detail.split('\n').filter((line) => line.trim() !== '')
  const places = lines.filter((line) => PLACE.test(line))
  const told = (places.length > 0 ? places : lines).slice(0, PLACES_MAX).map(said)
  return {
    subject: `${files === 1 ? 'A changed file was' : `${files} changed files were`} refused`,
    lines: [
      ...told,
      'All the older files stay in force. `tranched validate` tells what is wrong; saving the file again takes it.',
    ],
  }
}

export function archiveText({ dir, message }: Observed<'archive-trouble'>): Text {
  return {
    subject: 'Finished files of the journal cannot be moved to the archive',
    lines: [
      ...sentence(message),
      'Nothing is lost: they stay in the state directory, which grows.',
      `Look at ${dir}: whether it is there, is writable, and has room.`,
    ],
  }
}

export function remoteLinkText({ link, detail }: Observed<'remote-link'>): Text {
  return {
    subject:
      link === 'conflict'
        ? 'Somebody else listens to your bot on Telegram'
        : 'The daemon cannot listen to its bot on Telegram',
    lines: [
      ...sentence(detail),
      'It obeys nobody there meanwhile; trading goes on, and `tranched pause` and `tranched halt` work on its machine.',
      link === 'conflict'
        ? 'Where that is no second daemon of yours: have BotFather make a new token, and restart.'
        : 'Check the token under `control.telegram`, and restart.',
    ],
  }
}

export function stateText({ type, detail }: Observed<'begun-anew' | 'loss-accepted'>): Text {
  return type === 'begun-anew'
    ? {
        subject: 'The daemon began with fresh state',
        lines: [...sentence(detail), 'Caps, programs and what was in flight are forgotten.'],
      }
    : {
        subject: 'The daemon goes on although records are lost',
        lines: [...sentence(detail), 'Slots up to then count as missed.'],
      }
}

export function startedText(event: Observed<'daemon-started'>): Text {
  const { mode, owner, strategies, openIntents, halted } = event
  const many = strategies === 1 ? '1 strategy' : `${strategies} strategies`
  return {
    subject: `The daemon is running, with ${many}`,
    lines: [
      `Mode ${mode}, wallet ${owner}.`,
      ...(openIntents === 0
        ? []
        : [`Orders that are still open: ${openIntents}. They are followed to their end.`]),
      ...(halted === undefined ? [] : ['It is still halted: `tranched resume` goes on.']),
    ],
  }
}

export function stoppedText({ openIntents }: Observed<'daemon-stopped'>): Text {
  return {
    subject: 'The daemon has stopped',
    lines: [
      openIntents === 0
        ? 'Nothing was left open. Nothing is traded until it runs again.'
        : `Orders that are still open: ${openIntents}. What is signed may execute, and the next start finds out; nothing else is traded until then.`,
    ],
  }
}

/** The process ends, or never began, because of a fault. */
export function crashedText({
  message,
  wasRunning,
}: {
  readonly message: string
  readonly wasRunning: boolean
}): Text {
  return {
    subject: wasRunning
      ? 'The daemon has stopped because of a fault'
      : 'The daemon could not start',
    lines: [
      ...sentence(message),
      'Nothing is traded until it runs again. What was signed before may still execute.',
      'The log says more; `tranched status` shows what is open.',
    ],
  }
}

/** Something that was told of is over. `was` says what it is now. */
export function recoveredText(
  { was, sinceMs, atMs }: { readonly was: string; readonly sinceMs: number; readonly atMs: number },
  { timezone }: TextContext,
): Text {
  return {
    subject: was,
    lines: [`It had lasted ${lastingText(atMs - sinceMs)}, since ${localTime(sinceMs, timezone)}.`],
  }
}

export function testText(receiver: string): Text {
  return {
    subject: 'A test message of tranched',
    lines: [
      `It was sent to ${receiver}. Alarms will arrive here like this.`,
      'Nothing has happened, and nothing is to be done.',
    ],
  }
}
