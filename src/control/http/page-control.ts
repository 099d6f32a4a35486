import { randomInt } from 'node:crypto'
import * as z from 'zod'
import type { RemoteOutcome } from '../../domain/remote.ts'
import type { DaemonControl } from '../../engine/daemon.ts'
import type { Controlled } from '../../engine/daemon-control.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { Clock } from '../../ports.ts'
import { readJson } from '../../system/read-json.ts'
import {
  doneWithin,
  isAnswer,
  liftingKey,
  liftingOf,
  QUESTION_MS,
  type Question,
  type Stops,
} from '../stops.ts'
import { createRate, tooMany } from './access.ts'
import { json, type Reply } from './replies.ts'

/** Halts are not counted: repeated ones mean that someone really wants one. */
const PER_MINUTE = 20
const CODE_DIGITS = 6
/** The author in the journal. */
const BY = 'the operator, on the page'

const commandSchema = z.strictObject({
  command: z.enum(['halt', 'pause', 'resume']),
  strategy: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .optional(),
  code: z
    .string()
    .regex(/^\d{6}$/)
    .optional(),
})

type Input = {
  /** Writes the file HALT when the journal cannot record a halt. Returns the error, if any. */
  readonly haltByFile: (text: string) => string | undefined
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly observe: (event: RuntimeEvent) => void
}

type Daemon = {
  readonly control: Pick<DaemonControl, 'pause' | 'resume' | 'halt'>
  readonly stops: () => Stops
}

export type PageControl = ReturnType<typeof createPageControl>

/** Pause, halt and resume from the page. Nothing here widens what may be signed, and a resume is asked twice. */
export function createPageControl({ haltByFile, clock, observe }: Input) {
  const count = createRate(PER_MINUTE, clock.now)
  let daemon: Daemon | undefined
  /** In memory only: a restart voids it. */
  let question: Question | undefined

  function note(outcome: RemoteOutcome, what: string): void {
    observe({ type: 'remote-message', outcome, user: undefined, detail: `the page ${what}` })
  }

  function refuse(status: number, error: string, what: string): Reply {
    note('refused', what)
    return json(status, { error })
  }

  async function halt(): Promise<Reply> {
    const done = daemon && (await doneWithin(daemon.control.halt(BY), clock))
    if (done?.ok === true) return obeyed('halted', done)
    const why = done === undefined ? 'the daemon is starting' : done.detail
    const fault = haltByFile(`halted by ${BY}`)
    note('obeyed', `asked to halt: ${why}; ${fault ?? 'the file HALT holds instead'}`)
    if (fault !== undefined) return json(500, { error: `NOT HALTED: ${why}, and ${fault}` })
    return json(200, { done: 'Halted by the file HALT.', changed: ['everything'] })
  }

  function obeyed(verb: string, { changed }: Extract<Controlled, { ok: true }>): Reply {
    const names = changed.length === 0 ? 'nothing: it was so already' : changed.join(', ')
    note('obeyed', `${verb} ${names}`.slice(0, 200))
    return json(200, { done: `${verb[0]?.toUpperCase()}${verb.slice(1)}.`, changed })
  }

  async function pause({ control }: Daemon, strategy: string | undefined): Promise<Reply> {
    const done = await doneWithin(control.pause(strategy, BY), clock)
    return done.ok ? obeyed('paused', done) : refuse(409, done.detail, 'asked for a pause in vain')
  }

  function ask({ stops }: Daemon, strategy: string | undefined): Reply {
    const seen = stops()
    const lifting = liftingOf(seen, strategy)
    const { halted, file, paused } = lifting
    if (halted?.cause === 'evidence')
      return refuse(
        409,
        `${halted.detail}: someone has to look at the machine first, and run \`tranched resume\` there`,
        'asked to end a halt that needs someone at the machine',
      )
    if (lifting.isNothing) return refuse(409, 'nothing is halted or paused', 'asked in vain')
    const code = `${randomInt(10 ** CODE_DIGITS)}`.padStart(CODE_DIGITS, '0')
    const untilMs = clock.now() + QUESTION_MS
    question = { strategy, lifts: liftingKey(lifting), code, untilMs }
    note('answered', 'asked to resume, and is asked back')
    const halts = halted?.detail ?? file
    return json(200, {
      code,
      ends: [
        ...(halts === undefined ? [] : [`the halt: ${halts}`]),
        ...paused.map(([name, { detail }]) => `${name}: ${detail}`),
      ],
      staysHalted: strategy !== undefined && seen.state.halted !== undefined,
    })
  }

  async function resume({ control, stops }: Daemon, code: string): Promise<Reply> {
    const asked = question
    question = undefined
    if (asked === undefined || !isAnswer(asked, code, clock.now()))
      return refuse(409, 'that question is over: ask again', 'answered a question that is over')
    const { strategy, lifts } = asked
    if (liftingKey(liftingOf(stops(), strategy)) !== lifts)
      return refuse(409, 'something else is stopped by now: ask again', 'agreed to what changed')
    const done = await doneWithin(control.resume(strategy, BY), clock)
    return done.ok ? obeyed('resumed', done) : refuse(409, done.detail, 'agreed to resume in vain')
  }

  return {
    /** Called once the daemon trades. Until then only a halt works. */
    begin(begun: Daemon): void {
      daemon = begun
    },
    /** `text`: a request's body, JSON by `commandSchema`. */
    async answer(text: string): Promise<Reply> {
      const read = readJson(commandSchema, text)
      if (!read.ok) return refuse(400, 'not a command of the page', 'sent no command')
      const { command, strategy, code } = read.value
      if (command === 'halt') return halt()
      if (!count()) {
        note('flood', 'sent too many commands')
        return tooMany('too many commands')
      }
      if (daemon === undefined) return json(503, { error: 'the daemon is starting' })
      if (command === 'pause') return pause(daemon, strategy)
      return code === undefined ? ask(daemon, strategy) : resume(daemon, code)
    },
  }
}
