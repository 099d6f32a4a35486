import type { Observation } from '../../domain/observation.ts'
import { DEFAULT_POLICY } from '../../domain/policy.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Address } from '../../domain/units.ts'
import { createPermitHasher } from '../../execute/authority/permit-digest.ts'
import { createSigner } from '../../execute/authority/signer.ts'
import { createTurns, type SendingContext, type WalletContext } from '../../execute/context.ts'
import type { Chain } from '../../ports.ts'
import type { ExitCode, Io } from '../io.ts'
import { type ConfigOptions, reportProblems } from '../load.ts'
import { tellOf, whileStopped } from './aggregator.ts'
import { isAnchored, openAnchors } from './anchors.ts'
import { withClock } from './clock.ts'
import { composeGuard } from './guard.ts'
import { chainOf, composeChain, filesOf } from './services.ts'
import { openHalt, openState } from './state.ts'
import { openScrubber } from './telling.ts'
import { claimWallets } from './wallet-claims.ts'
import { readKey } from './wallets.ts'

/** The wallet that trades, while no daemon does, and what a command sends transactions of it with. */
export type TraderTools = {
  readonly context: SendingContext
  readonly wallet: WalletContext
  readonly chain: Chain
  readonly owner: Address
  /** One line of progress for a person, beside the data on stdout. */
  readonly tell: (line: string) => void
}

type TraderInput = {
  readonly settings: Settings
  readonly options: ConfigOptions
  readonly io: Io
  readonly command: string
}

/**
 * Opens the trading wallet's key, its chain and its journal for one task, and closes them after it. Everything that is signed is
 * journaled as a daemon's is. Refuses in dry-run mode. Throws StateLockedError where a daemon runs.
 */
export async function withTrader(
  input: TraderInput,
  task: (tools: TraderTools) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { settings, options, io, command } = input
  const scrubber = openScrubber()
  const tell = (line: string): void => void io.stderr.write(`${scrubber.text(line)}\n`)
  const observe = (event: Observation): void => tellOf(event, tell)
  return withClock((clock) =>
    whileStopped({ tools: { settings, clock }, options, io, command }, async (lock) => {
      const read = await readKey(settings, settings.gasless.wallet, { scrubber, io })
      if (!read.ok) return reportProblems([read.problem], io, options)
      const { key, journalKey } = read
      const wallets = { trader: key.address, operator: undefined }
      const claim = await claimWallets(settings, wallets, { io, command, lock })
      const failing = new AbortController()
      const stopping = new AbortController()
      const offSignal = io.onSignal((name) => stopping.abort(name))
      const anchors = await openAnchors(settings, wallets, clock)
      const chain = composeChain({ settings, clock, observe })
      const opened = await openState(settings.mode, {
        ...{ dir: settings.stateDir, lock, anchors, clock, key: journalKey, observe },
        mayUpgrade: !isAnchored(settings),
        onFatal: (error) => failing.abort(error),
      })
      try {
        for (const warning of opened.warnings) tell(warning)
        const { journal } = opened
        await anchors?.keep(journal)
        const guard = composeGuard(
          openHalt(settings.stateDir).barred,
          () => lock.lostLately(),
          () => anchors?.lost(),
        )
        const { chainId, gas, finality, agree } = chainOf(settings, settings.gasless.chain)
        const { hash: hashPermit } = createPermitHasher({
          chainId,
          permit2: settings.gasless.permit2,
        })
        const files = filesOf(settings, { strategies: new Map(), versionOf: () => undefined })
        const signer = createSigner({ key, hashPermit, journal, guard, clock, files })
        const stop = AbortSignal.any([stopping.signal, failing.signal])
        const context: SendingContext = {
          ports: { clock, random: { jitter: Math.random }, journal, guard, observe },
          policy: DEFAULT_POLICY,
          closing: stop,
          stop,
        }
        const rule = { finality, agree }
        const wallet = { chain, chainId, finality: rule, gas, signer, turn: createTurns() }
        return await task({ context, wallet, chain, owner: key.address, tell })
      } finally {
        offSignal()
        await opened.close()
        await chain.close()
        claim.release()
      }
    }),
  )
}
