import { decodeErrorResult, isHex, parseAbi } from 'viem/utils'
import type { Hex } from '../../domain/money/units.ts'

/**
 * Errors of the contracts that we use: proposer code and its multicall, GasTank, Permit2, and the common base classes of
 * tokens and targets. Custom errors of a target are shown by selector only.
 */
const KNOWN = [
  'error GasLimitExceeded()',
  'error OnlyMulticallOrSelf(address caller)',
  'error DeadlinePassed(uint256 deadline)',
  'error WrongNonce(uint256 nonce, uint256 expected)',
  'error WrongSigner(address signer)',
  'error NotEnoughGas(uint256 available, uint256 gasLimit)',
  'error NotDelegated(uint256 index, address account)',
  'error CallFailed(uint256 index, address account, bytes reason)',
  'error OnlyOperator()',
  'error DeadlinePassed()',
  'error NonceTooLow()',
  'error SignatureInvalid()',
  'error LowLevelCallFailed()',
  'error Unauthorized()',
  'error OutOfGas()',
  'error NotBuilder()',
  'error FailedLowLevelCall()',
  'error InvalidSigner()',
  'error InvalidNonce()',
  'error InvalidSignature()',
  'error SignatureExpired(uint256 deadline)',
  'error ECDSAInvalidSignature()',
  'error ECDSAInvalidSignatureLength(uint256 length)',
  'error ECDSAInvalidSignatureS(bytes32 s)',
  'error FailedCall()',
  'error InsufficientBalance(uint256 balance, uint256 needed)',
  'error EnforcedPause()',
  'error ReentrancyGuardReentrantCall()',
  'error OwnableUnauthorizedAccount(address account)',
  'error AccessControlUnauthorizedAccount(address account, bytes32 role)',
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC20InvalidReceiver(address receiver)',
  'error SafeERC20FailedOperation(address token)',
] as const

/** Parsed at the first revert: it takes 1 ms. */
let known: ReturnType<typeof parseAbi<typeof KNOWN>> | undefined

const REASON_LENGTH_MAX = 200
const UNPRINTABLE = /[^\x20-\x7e]+/g
const SELECTOR_LENGTH = 10
const DEPTH_MAX = 3

/**
 * The reason of a revert: the text of `Error(string)`, a panic code, a known error with the error it wraps, or the selector
 * of any other. The contract controls the text, so only a bounded number of printable characters is kept.
 */
export function revertReason(data: unknown): string | undefined {
  const hex = typeof data === 'string' ? /0x(?:[0-9a-f]{2}){4,4096}$/i.exec(data)?.[0] : undefined
  return hex === undefined
    ? undefined
    : messageOfData(hex as Hex, DEPTH_MAX)
        .replace(UNPRINTABLE, ' ')
        .slice(0, REASON_LENGTH_MAX)
}

/** The decoder also knows `Error(string)` and panics, which its type does not show. */
type Decoded = { readonly errorName: string; readonly args?: readonly unknown[] | undefined }

function messageOfData(data: Hex, depth: number): string {
  try {
    known ??= parseAbi(KNOWN)
    const decoded: Decoded = decodeErrorResult({ abi: known, data })
    const { errorName, args = [] } = decoded
    if (errorName === 'Error') return String(args[0])
    return `${errorName}(${args.map((arg) => argumentOf(arg, depth - 1)).join(', ')})`
  } catch {
    return `custom error ${data.slice(0, SELECTOR_LENGTH)}`
  }
}

/** Treats bytes with the length of encoded error data as a wrapped error. */
function argumentOf(arg: unknown, depth: number): string {
  const isError = isHex(arg) && arg.length >= SELECTOR_LENGTH && arg.length % 64 === SELECTOR_LENGTH
  return isError && depth > 0 ? messageOfData(arg, depth) : String(arg)
}
