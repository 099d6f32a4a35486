import type { TelegramControl } from '../../../domain/settings.ts'
import type { DaemonControl } from '../../../engine/daemon.ts'
import type { Clock } from '../../../ports.ts'
import {
  evidenceText,
  type Lifting,
  liftingKey,
  liftingOf,
  nothingToResumeText,
  questionText,
  resumedText,
} from './command-answers.ts'
import { QUESTION_MS, Questions } from './questions.ts'
import { byOf, type From, namesOf, type Take, type Voice } from './reply.ts'
import type { RemoteSight } from './status-text.ts'
import { doneWithin } from './within.ts'

type ResumptionInput = {
  readonly settings: Pick<TelegramControl, 'resume'>
  readonly control: Pick<DaemonControl, 'resume'>
  readonly sight: () => RemoteSight
  /** Six unpredictable digits. */
  readonly code: () => string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly voice: Voice
}

type Confirmed = { readonly isDone: boolean; readonly said: string }

/** Ends halts and pauses, after it has asked whether that is meant. */
export class Resumption {
  readonly #input: ResumptionInput
  readonly #questions: Questions

  constructor(input: ResumptionInput) {
    this.#input = input
    this.#questions = new Questions(input.code)
  }

  /** Any other command voids what was asked. */
  drop({ user }: From): void {
    this.#questions.drop(user)
  }

  /** The first time: says what would go on, and asks for a code. */
  ask(strategy: string | undefined, from: From): void {
    const { sight, voice } = this.#input
    const { state, haltFile } = sight()
    const lifting = liftingOf({ state, haltFile }, strategy)
    const blocked = this.#blocked(lifting)
    if (blocked !== undefined) voice.refuse(from, blocked.reply, blocked.what)
    else if (lifting.isNothing) {
      voice.say(from, nothingToResumeText(state, strategy))
      voice.note('answered', from, 'asked to resume what is not stopped')
    } else {
      const isHaltedBeyond = strategy !== undefined && state.halted !== undefined
      this.#question(from, { strategy, lifting, isHaltedBeyond })
    }
  }

  #blocked({ halted }: Lifting): { readonly reply: string; readonly what: string } | undefined {
    if (!this.#input.settings.resume) {
      const reply = 'Nothing is resumed from here (control.telegram.resume): use the machine.'
      return { reply, what: 'asked to resume, which the config does not allow' }
    }
    if (halted?.cause !== 'evidence') return undefined
    const what = 'asked to end a halt that needs somebody at the machine'
    return { reply: evidenceText(halted), what }
  }

  #question(
    from: From,
    asked: {
      readonly strategy: string | undefined
      readonly lifting: Lifting
      readonly isHaltedBeyond: boolean
    },
  ): void {
    const { clock, voice } = this.#input
    const { strategy, lifting, isHaltedBeyond } = asked
    const nowMs = clock.now()
    const code = this.#questions.ask(from.user, { strategy, lifts: liftingKey(lifting) }, nowMs)
    voice.put({
      tag: 'message',
      chat: from.chat,
      text: questionText(lifting, { code, isHaltedBeyond, nowMs }),
      buttons: [{ text: 'Resume', data: `resume ${code}` }],
    })
    voice.note('answered', from, 'asked to resume, and is asked back')
  }

  /** The second time: by the same person, in time, and for what is still the same. */
  async confirm(code: string, from: From, take: Take): Promise<Confirmed> {
    const { control, clock, sight, voice } = this.#input
    const answered = this.#questions.answer(from.user, code, clock.now())
    const isNoted = await take()
    if (answered.tag === 'void') {
      const why = answered.wasAsked
        ? `That is not the code, or its ${QUESTION_MS / 1_000} s are over.`
        : 'Nothing was asked, or it is over.'
      voice.note('refused', from, 'gave a code that holds for nothing')
      return { isDone: false, said: `${why} /resume asks again.` }
    }
    const { strategy, lifts } = answered.asked
    if (liftingKey(liftingOf(sight(), strategy)) !== lifts) {
      voice.note('refused', from, 'agreed to resume what has changed since')
      return { isDone: false, said: 'Something else is stopped by now. /resume asks again.' }
    }
    // Heard a second time it might end a halt that came after it.
    if (!isNoted) {
      voice.note('refused', from, 'agreed to resume, and the disk takes no note of it')
      return { isDone: false, said: 'Not resumed: the disk of the machine takes no note of it.' }
    }
    const done = await doneWithin(control.resume(strategy, byOf(from)), clock)
    if (!done.ok) {
      voice.note('refused', from, `agreed to resume: ${done.detail}`)
      return { isDone: false, said: `Not resumed as far as I know: ${done.detail}` }
    }
    voice.note('obeyed', from, `resumed ${namesOf(done.changed)}`)
    return { isDone: true, said: resumedText(done) }
  }
}
