import {
  doneWithin,
  isAnswer,
  liftingKey,
  liftingOf,
  QUESTION_MS,
  type Question,
} from '../../stops.ts'
import { evidenceText, nothingToResumeText, questionText, resumedText } from './command-answers.ts'
import { byOf, type From, type HandlerInput, namesOf, type Take, type Voice } from './reply.ts'

type Confirmed = { readonly isDone: boolean; readonly said: string }

/** Ends halts and pauses after a confirmation with a code. */
export class Resumption {
  readonly #input: Pick<HandlerInput, 'settings' | 'control' | 'snapshot' | 'code' | 'clock'>
  readonly #voice: Voice
  /** One question per person, in memory only: a restart voids it, so a confirmation handled twice finds none. */
  readonly #pending = new Map<number, Question>()

  constructor(input: HandlerInput, voice: Voice) {
    this.#input = input
    this.#voice = voice
  }

  /** Any other command voids the question. */
  drop({ user }: From): void {
    this.#pending.delete(user)
  }

  ask(strategy: string | undefined, from: From): void {
    const { settings, snapshot, clock, code: newCode } = this.#input
    const voice = this.#voice
    if (!settings.resume) {
      const reply = 'Nothing is resumed from here (control.telegram.resume): use the machine.'
      voice.refuse(from, reply, 'asked to resume, which the config does not allow')
      return
    }
    const seen = snapshot()
    const { state } = seen
    const lifting = liftingOf(seen, strategy)
    if (lifting.halted?.cause === 'evidence') {
      const what = 'asked to end a halt that needs someone at the machine'
      voice.refuse(from, evidenceText(lifting.halted), what)
      return
    }
    if (lifting.isNothing) {
      voice.say(from, nothingToResumeText(state, strategy))
      voice.note('answered', from, 'asked to resume what is not stopped')
      return
    }
    const nowMs = clock.now()
    const code = newCode()
    const untilMs = nowMs + QUESTION_MS
    this.#pending.set(from.user, { strategy, lifts: liftingKey(lifting), code, untilMs })
    const isHaltedBeyond = strategy !== undefined && state.halted !== undefined
    voice.put({
      tag: 'message',
      chat: from.chat,
      text: questionText(lifting, { code, isHaltedBeyond, nowMs }),
      buttons: [{ text: 'Resume', data: `resume ${code}` }],
    })
    voice.note('answered', from, 'asked to resume, and is asked back')
  }

  /** The same person must answer in time, while the same things are stopped. A code allows one attempt. */
  async confirm(code: string, from: From, take: Take): Promise<Confirmed> {
    const { control, clock, snapshot } = this.#input
    const nowMs = clock.now()
    const pending = this.#pending.get(from.user)
    this.#pending.delete(from.user)
    const isNoted = await take()
    const refuse = (what: string, said: string): Confirmed => {
      this.#voice.note('refused', from, what)
      return { isDone: false, said }
    }
    if (pending === undefined || !isAnswer(pending, code, nowMs)) {
      const why =
        pending === undefined
          ? 'Nothing was asked, or it is over.'
          : `That is not the code, or its ${QUESTION_MS / 1_000} s are over.`
      return refuse('gave a code that holds for nothing', `${why} /resume asks again.`)
    }
    const { strategy, lifts } = pending
    if (liftingKey(liftingOf(snapshot(), strategy)) !== lifts)
      return refuse(
        'agreed to resume what has changed since',
        'Something else is stopped by now. /resume asks again.',
      )
    // If handled again after a restart, it might end a later halt.
    if (!isNoted)
      return refuse(
        'agreed to resume, and the disk takes no note of it',
        'Not resumed: the disk of the machine takes no note of it.',
      )
    const done = await doneWithin(control.resume(strategy, byOf(from)), clock)
    if (!done.ok)
      return refuse(
        `agreed to resume: ${done.detail}`,
        `Not resumed as far as I know: ${done.detail}`,
      )
    this.#voice.note('obeyed', from, `resumed ${namesOf(done.changed)}`)
    return { isDone: true, said: resumedText(done) }
  }
}
