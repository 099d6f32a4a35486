import type { PauseCause } from '../../records.ts'
import { HALT_TOPIC, notification } from '../../wording/notice.ts'
import { sentence } from '../../wording/text.ts'
import { type Line, line, type Outputs } from '../output.ts'
import type { Stop } from './stops.ts'

/** Default `detail` of records that do not say who resumed. */
const RESUMED = 'resumed'

const CAUSES = {
  operator: 'an operator',
  'failure-streak': 'a streak of failures',
  drawdown: 'a drawdown',
  evidence: 'evidence of lost state or another writer',
} as const

export const STOP_OUTPUTS = {
  'strategy-paused': {
    level: 'warn',
    name: 'pause',
    line: (event) => stopLine(`paused ${event.strategy}: ${event.detail}`, event),
    measure: ({ paused }, { strategy }) => paused.set({ strategy }, 1),
    notify({ strategy, cause, detail }) {
      const why = {
        operator: '',
        'failure-streak': ': too many of its slots failed in a row',
        drawdown: ': its value fell too far',
        evidence: ': something happened that no record explains',
      }[cause]
      return notification('paused', `${strategy} is paused${why}`, [
        ...sentence(detail),
        'It opens no slots; the other strategies continue.',
        `\`tranched history --strategy ${strategy}\` shows its last slots; \`tranched resume ${strategy}\` resumes it.`,
      ])
    },
    title: ({ cause }) => `paused by ${CAUSES[cause]}`,
  },

  'strategy-resumed': {
    level: 'info',
    name: 'pause',
    line: ({ strategy, detail }) => resumedLine(strategy, detail),
    measure: ({ paused }, { strategy }) => paused.set({ strategy }, 0),
    notify: ({ strategy, detail }) =>
      notification('resumed', `${strategy} is resumed`, ['Its pause is over.', ...byWhom(detail)]),
    title: () => 'no longer paused',
  },

  'strategy-held': {
    level: 'warn',
    name: 'hold',
    line: ({ strategy, detail }) =>
      line(`held ${strategy}: ${detail}`, { held: true, detail }, { detail }),
    measure: ({ held }, { strategy }) => held.set({ strategy }, 1),
    notify: ({ strategy, detail }) =>
      notification('approval', `${strategy} waits for your approval`, [
        ...sentence(detail),
        'It opens no slots until then; the other strategies continue.',
        `\`tranched approve ${strategy}\` lets it trade. If it is a mistake, correct its file.`,
      ]),
    title: () => 'held for approval',
  },

  'hold-lifted': {
    level: 'info',
    name: 'hold',
    line: ({ strategy, detail }) =>
      line(`released ${strategy}: ${detail}`, { held: false, detail }, { detail }),
    measure: ({ held }, { strategy }) => held.set({ strategy }, 0),
    notify: ({ strategy, detail }) =>
      notification('resumed', `${strategy} is released`, sentence(detail)),
    title: () => 'no longer held for approval',
  },

  halted: {
    level: 'warn',
    name: 'pause',
    line: (event) => stopLine(`halted everything: ${event.detail}`, event),
    measure: ({ halted }) => halted.set(1),
    notify({ cause, detail }) {
      const { why = '', next = [GOES_ON, '`tranched resume` lifts it.'] } = HALTS[cause] ?? {}
      const lasting = { topic: HALT_TOPIC, begins: true }
      return notification(
        'halted',
        `Trading is halted${why}`,
        [...sentence(detail), ...next],
        lasting,
      )
    },
    title: ({ cause }) => `halted by ${CAUSES[cause]}`,
  },

  'halt-lifted': {
    level: 'info',
    name: 'pause',
    line: ({ detail }) => resumedLine('everything', detail),
    measure: ({ halted }) => halted.set(0),
    notify: ({ detail }) =>
      notification('resumed', 'Trading is resumed', [
        'The halt is over. Slots that passed meanwhile are not run later.',
        ...byWhom(detail),
      ]),
    ends: () => [HALT_TOPIC],
    title: () => 'no longer halted',
  },
} satisfies Partial<Outputs>

function stopLine(text: string, { cause, detail }: Stop): Line {
  return { text, fields: { paused: true, cause, detail }, details: { cause, detail } }
}

function resumedLine(what: string, detail = RESUMED): Line {
  const cause: PauseCause = 'operator'
  const text = `resumed ${what}${detail === RESUMED ? '' : `: ${detail}`}`
  return line(text, { paused: false, cause, detail }, { cause, detail })
}

function byWhom(detail = RESUMED): readonly string[] {
  return detail === RESUMED ? [] : sentence(detail)
}

const GOES_ON = 'Nothing new is signed; signed orders are followed to their end.'
const HALTS: Partial<Record<PauseCause, { readonly why: string; readonly next: string[] }>> = {
  evidence: {
    why: ': something happened that no record explains',
    next: [
      `Someone else may be using the key, or records are lost. ${GOES_ON}`,
      'Read `tranched status`, then docs/recovery.md. Run `tranched resume` only once you know the cause.',
    ],
  },
  'failure-streak': {
    why: ': too many slots failed in a row',
    next: [GOES_ON, '`tranched history` shows them; `tranched resume` lifts the halt.'],
  },
}
