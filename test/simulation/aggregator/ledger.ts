import { decodeAbiParameters, decodeFunctionData, parseAbi } from 'viem/utils'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { AnsweredDomain } from '../../../src/domain/order/call.ts'
import type { AggregatorSettings } from '../../../src/domain/settings.ts'
import type { CallTrace, TransactionDraft } from '../../../src/ports.ts'
import { hashCall } from '../../../src/signing/call-data.ts'
import { fingerprint } from '../../support/random-hex.ts'
import { Codes } from '../chain/codes.ts'
import type { Ledger } from '../chain/ledger.ts'
import { decodeTransaction, simulatedSignature } from '../signer.ts'

const ABI = parseAbi([
  'function onCall(address _target, bytes _data, uint256 _value) returns (bool)',
])
const SIGNED_CALL = [
  { type: 'bytes' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'bytes' },
  { type: 'uint256' },
] as const
const GAS_USED = 60_000n
const GAS_PRICE = 10n ** 9n
/** Sender of the batches. */
const OPERATOR: Address = '0x0000000000000000000000000000000000b47c40'

/** A request to the proposer code of an account. */
export type ProposerCall = { readonly target: Address; readonly data: Hex; readonly value: bigint }

/** A call as the target received it. */
export type CallExecution = {
  readonly target: Address
  readonly calldata: Hex
  readonly value: bigint
  readonly hash: Hex
  /** Undefined for a call without its own signature. */
  readonly digest: Hex | undefined
}

type LedgerSnapshot = {
  readonly nestedNonce: bigint
  readonly transactionCount: number
  readonly balance: bigint
  /** Executions so far. */
  readonly executed: number
}

export type CallLedgerOptions = {
  readonly blocks: Pick<Ledger, 'block' | 'timeSeconds' | 'nextBlockMs'>
  readonly schedule: (atMs: number, fire: () => void) => void
  readonly account: Address
  readonly chainId: number
  readonly contracts: AggregatorSettings['contracts']
}

/** The true state of the aggregation service's chain, for one delegated account. Has no node faults. */
export class CallLedger {
  code: Hex
  /** The domain of the delegated code, which it checks signatures against. */
  domain: AnsweredDomain | undefined
  verifyingContract: Address
  nestedNonce = 0n
  transactionCount = 0
  balance = 10n ** 19n
  gasTank = 10n ** 18n
  /** Targets whose calls revert. */
  readonly reverting = new Set<Address>()
  /** Direct transactions are accepted and never mined. */
  losesDirect = false
  readonly codes = new Codes()
  readonly mined: CallTrace[] = []
  readonly executions: CallExecution[] = []
  readonly #options: CallLedgerOptions
  readonly #waiting = new Set<Hex>()
  /** Snapshots before each change, oldest first. */
  readonly #before: (LedgerSnapshot & {
    readonly block: bigint
    readonly isOwn: boolean
    readonly again: () => void
  })[] = []
  readonly #forks: bigint[] = []

  constructor(options: CallLedgerOptions) {
    this.#options = options
    const { contracts, chainId } = options
    this.code = delegationTo(contracts.trustlessProposer)
    this.verifyingContract = contracts.trustlessProposer
    this.domain = domainOf(this.verifyingContract, chainId)
  }

  get timeSeconds(): number {
    const { blocks } = this.#options
    return blocks.timeSeconds(blocks.block)
  }

  timeOf(block: number): number {
    return this.#options.blocks.timeSeconds(block)
  }

  get block(): bigint {
    return BigInt(this.#options.blocks.block)
  }

  /** A block's hash; a reorganisation replaces it. */
  blockHash(block: bigint): Hex {
    return fingerprint(
      `call block ${block} of ${this.#forks.findLastIndex((fork) => fork < block)}`,
    )
  }

  nestedNonceAt(block: bigint): bigint {
    return this.#before.find((each) => each.block > block)?.nestedNonce ?? this.nestedNonce
  }

  transactionCountAt(block: bigint): number {
    return (
      this.#before.find((each) => each.block > block)?.transactionCount ?? this.transactionCount
    )
  }

  /**
   * Takes back the last blocks. Their contents are mined again after `againAfterMs` if they are still valid, or never.
   * With `losesOwn`, transactions of the account itself are not.
   */
  reorg(change: {
    readonly blocks: number
    readonly againAfterMs: number | undefined
    readonly losesOwn?: boolean
  }): void {
    const fork = this.block - BigInt(change.blocks)
    const at = this.#before.findIndex(({ block }) => block > fork)
    const gone = at < 0 ? [] : this.#before.splice(at)
    const [first] = gone
    if (first !== undefined) {
      this.nestedNonce = first.nestedNonce
      this.transactionCount = first.transactionCount
      this.balance = first.balance
      this.executions.length = first.executed
    }
    const kept = this.mined.filter(({ blockNumber }) => blockNumber <= fork)
    this.mined.splice(0, this.mined.length, ...kept)
    this.codes.cut(Number(fork))
    this.#forks.push(fork)
    const { againAfterMs, losesOwn = false } = change
    if (againAfterMs === undefined) return
    const { schedule, blocks } = this.#options
    schedule(blocks.timeSeconds(blocks.block) * 1000 + againAfterMs, () => {
      for (const { again, isOwn } of gone) if (!isOwn || !losesOwn) again()
    })
  }

  #remember(again: () => void, { isOwn = false } = {}): void {
    const { nestedNonce, transactionCount, balance, block } = this
    const executed = this.executions.length
    this.#before.push({ nestedNonce, transactionCount, balance, executed, block, isOwn, again })
  }

  /** Mines a batch with one call of the account. Returns false without mining if it would revert. */
  batch(call: ProposerCall, known?: Hex): Hex | undefined {
    const { account, contracts } = this.#options
    const input =
      `0x8d80ff0a${account.slice(2)}${call.target.slice(2)}${call.data.slice(2)}` as const
    const hash = known ?? fingerprint(`batch ${input} ${this.mined.length}`)
    this.#remember(() => this.batch(call, hash))
    if (!this.#isProposer || !this.#onCall(call, hash)) {
      this.#before.pop()
      return undefined
    }
    this.#record({ hash, from: OPERATOR, to: contracts.multicall, input, success: true })
    return hash
  }

  /** A transaction from another sender, with any input. */
  strangersTransaction(input: Hex): Hex {
    const hash = fingerprint(`stranger ${this.mined.length}`)
    this.#record({
      hash,
      from: OPERATOR,
      to: this.#options.contracts.multicall,
      input,
      success: true,
    })
    return hash
  }

  /** Takes raw bytes of the account's own transaction; they are mined with the next block. */
  broadcast(raw: Hex, { isLost = this.losesDirect } = {}): Hex | undefined {
    const draft = decodeTransaction(raw)
    const hash = fingerprint(raw)
    if (draft === undefined || draft.nonce < this.transactionCount) return undefined
    if (isLost || this.#waiting.has(hash)) return hash
    this.#waiting.add(hash)
    const { schedule, blocks } = this.#options
    schedule(blocks.nextBlockMs(), () => this.#mineDirect(hash, draft))
    return hash
  }

  /** Whether the account's own transaction would succeed now. */
  wouldSucceed({ to, data, value }: { to: Address; data: Hex; value: bigint }): boolean {
    if (to !== this.#options.account) return !this.reverting.has(to) && value <= this.balance
    if (data === '0x') return !this.#isProposer
    return !this.#isProposer || this.#checked(decodeOnCall(data)) !== undefined
  }

  #mineDirect(hash: Hex, draft: TransactionDraft): void {
    this.#waiting.delete(hash)
    if (draft.nonce !== this.transactionCount) return
    this.#remember(() => this.#mineDirect(hash, draft), { isOwn: true })
    this.transactionCount += 1
    const { to, data, value, from } = draft
    const success =
      to === this.#options.account
        ? this.#ownCode(data, hash)
        : this.#execute({ target: to, calldata: data, value, hash, digest: undefined })
    this.#record({ hash, from, to, input: data, success })
  }

  /** An address without code accepts any call and does nothing; foreign code is assumed to do the same. */
  get #isProposer(): boolean {
    const { trustedProposer, trustlessProposer } = this.#options.contracts
    return [trustedProposer, trustlessProposer].some((each) => this.code === delegationTo(each))
  }

  /** The proposers reject plain ether transfers. */
  #ownCode(data: Hex, hash: Hex): boolean {
    return data === '0x' ? !this.#isProposer : this.#onCall(decodeOnCall(data), hash)
  }

  #onCall(call: ProposerCall, hash: Hex): boolean {
    if (!this.#isProposer) return true
    const checked = this.#checked(call)
    if (checked === undefined) return false
    if (!this.#execute({ ...checked, hash })) return false
    if (checked.digest !== undefined) this.nestedNonce += 1n
    return true
  }

  /** The call that the account's code executes; undefined if it reverts. */
  #checked(call: ProposerCall): Omit<CallExecution, 'hash'> | undefined {
    const { contracts, account, chainId } = this.#options
    const { target, value } = call
    if (this.reverting.has(target) || value > this.balance) return undefined
    if (this.code === delegationTo(contracts.trustedProposer))
      return { target, value, calldata: call.data, digest: undefined }
    if (this.code !== delegationTo(contracts.trustlessProposer)) return undefined
    const [signature, deadline, nonce, calldata, gasLimit] = decodeAbiParameters(
      SIGNED_CALL,
      call.data,
    )
    const deadlineSeconds = Number(deadline)
    const { verifyingContract } = this
    const terms = { chainId, account, verifyingContract, deadlineSeconds, nonce, gasLimit }
    const digest = hashCall({ ...terms, target, value, calldata })
    const isSigned = signature === simulatedSignature(account, digest)
    const isLive = nonce === this.nestedNonce && this.timeSeconds <= deadlineSeconds
    return isSigned && isLive ? { target, value, calldata, digest } : undefined
  }

  #execute(execution: CallExecution): boolean {
    if (this.reverting.has(execution.target) || execution.value > this.balance) return false
    this.balance -= execution.value
    this.executions.push(execution)
    return true
  }

  #record(trace: Pick<CallTrace, 'hash' | 'from' | 'to' | 'input' | 'success'>): void {
    const { block: blockNumber } = this
    const gas = { gasUsed: GAS_USED, effectiveGasPrice: GAS_PRICE, blobCost: 0n }
    this.mined.push({ ...trace, ...gas, blockNumber, blockHash: this.blockHash(blockNumber) })
  }
}

export function delegationTo(code: Address): Hex {
  return `0xef0100${code.slice(2)}`
}

export function domainOf(verifyingContract: Address, chainId: number): AnsweredDomain {
  const [name, version] = ['TrustlessProposer', '1']
  return { name, version, chainId: BigInt(chainId), verifyingContract, hasExtras: false }
}

/** Arguments of an onCall. */
export function decodeOnCall(data: Hex): ProposerCall {
  const [target, payload, value] = decodeFunctionData({ abi: ABI, data }).args
  return { target: target.toLowerCase() as Address, data: payload, value }
}
