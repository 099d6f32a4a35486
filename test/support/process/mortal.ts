import { cpSync } from 'node:fs'
import type { Aggregator, CallChain, Journal } from '../../../src/ports.ts'
import { never } from '../../simulation/process.ts'
import { temporaryDirectory } from '../state/state-directory.ts'

/**
 * A process that can die between any two durable steps: just before and just after each append to its journal, and
 * after each request that moves money, before the answer arrives. The effect of the request still happens.
 */
export class Mortal {
  /** Steps so far. */
  steps = 0
  readonly died: Promise<'died'>
  readonly #diesAt: number | undefined
  #alive = true
  #resolveDied: () => void = () => undefined

  /** It dies at that step, counted from 1, or never. */
  constructor(diesAt: number | undefined) {
    this.#diesAt = diesAt
    this.died = new Promise((resolve) => {
      this.#resolveDied = () => resolve('died')
    })
  }

  journal(journal: Journal): Journal {
    return {
      state: journal.state,
      isOnDisk: (name) => journal.isOnDisk(name),
      records: () => journal.records(),
      note: (...events) => {
        if (this.#dies()) return
        journal.note(...events)
        this.#dies()
      },
      append: async (...events) => {
        if (this.#dies()) return never()
        await journal.append(...events)
        return this.#dies() ? never() : undefined
      },
    }
  }

  service(service: Aggregator): Aggregator {
    return {
      sendRawTransaction: (raw) => this.#send(() => service.sendRawTransaction(raw)),
      sendBundle: (raw, block) => this.#send(() => service.sendBundle(raw, block)),
      receipt: (hash) => this.#ask(() => service.receipt(hash)),
      batchedReceipt: (hash) => this.#ask(() => service.batchedReceipt(hash)),
      accountInfo: () => this.#ask(() => service.accountInfo()),
      transactionStatus: (hash) => this.#ask(() => service.transactionStatus(hash)),
    }
  }

  chain(chain: CallChain): CallChain {
    return {
      identity: () => this.#ask(() => chain.identity()),
      draft: (call) => this.#ask(() => chain.draft(call)),
      broadcast: (raw) => this.#send(() => chain.broadcast(raw)),
      transaction: (query) => this.#ask(() => chain.transaction(query)),
      account: (query) => this.#ask(() => chain.account(query)),
      simulate: (call) => this.#ask(() => chain.simulate(call)),
      trace: (hash) => this.#ask(() => chain.trace(hash)),
      callsWith: (query) => this.#ask(() => chain.callsWith(query)),
      code: (query) => this.#ask(() => chain.code(query)),
      blocks: (query) => this.#ask(() => chain.blocks(query)),
      finalCount: (query) => this.#ask(() => chain.finalCount(query)),
      nonceOutcome: (query) => this.#ask(() => chain.nonceOutcome(query)),
      finalAccount: (query) => this.#ask(() => chain.finalAccount(query)),
    }
  }

  async #ask<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    if (!this.#alive) return never()
    const answer = await request()
    return this.#alive ? answer : never()
  }

  async #send<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    const answer = await this.#ask(request)
    return this.#dies() ? never() : answer
  }

  #dies(): boolean {
    if (!this.#alive) return true
    this.steps += 1
    if (this.steps !== this.#diesAt) return false
    this.#alive = false
    this.#resolveDied()
    return true
  }
}

/**
 * A directory with the disk contents of a dead process. Its open files stay separate, and so do files that it had not
 * renamed.
 */
export function inheritJournal(dir: string): string {
  const heir = temporaryDirectory()
  cpSync(dir, heir, { recursive: true, filter: (file) => !file.endsWith('.tmp') })
  return heir
}
