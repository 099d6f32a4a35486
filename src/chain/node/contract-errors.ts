import { decodeErrorResult, isHex, parseAbi } from 'viem/utils'
import type { Hex } from '../../domain/units.ts'

/**
 * Errors that the contracts we deal with revert with: the proposer codes and their multicall, GasTank, Permit2 and the
 * usual base classes of tokens and targets. A target's own error is known by its selector alone.
 */
const KNOWN = parseAbi([
  'error GasLimitExceeded()',
  'error OnlyMulticallOrSelf(address caller)',
  'error DeadlinePassed(uint256 deadline)',
  'error WrongNonce(uint256 nonce, uint256 expected)',
  'error WrongSigner(address signer)',
  'error NotEnoughGas(uint256 available, uint256 gasLimit)',
  'error NotDelegated(uint256 index, address account)',
  'error CallFailed(uint256 index, address account, bytes reason)',
  'error OnlyOperator()',
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
])

const REASON_LENGTH_MAX = 200
const UNPRINTABLE = /[^\x20-\x7e]+/g
const SELECTOR_LENGTH = 10
/** Errors that carry another contract's error, one within the other. */
const DEPTH_MAX = 3

/**
 * What a revert says: the text of `Error(string)`, a panic's code, a known error by its name with the error that it carries,
 * or the selector of any other. The text is a contract's, so that only a bounded line of printable characters is kept.
 */
export function revertReason(data: unknown): string | undefined {
  const hex = typeof data === 'string' ? /0x(?:[0-9a-f]{2}){4,4096}$/i.exec(data)?.[0] : undefined
  return hex === undefined
    ? undefined
    : wordsOf(hex as Hex, DEPTH_MAX)
        .replace(UNPRINTABLE, ' ')
        .slice(0, REASON_LENGTH_MAX)
}

/** The decoder knows `Error(string)` and panics beside the errors it is given, which its type does not say. */
type Decoded = { readonly errorName: string; readonly args?: readonly unknown[] | undefined }

function wordsOf(data: Hex, depth: number): string {
  try {
    const decoded: Decoded = decodeErrorResult({ abi: KNOWN, data })
    const { errorName, args = [] } = decoded
    if (errorName === 'Error') return String(args[0])
    return `${errorName}(${args.map((arg) => argumentOf(arg, depth - 1)).join(', ')})`
  } catch {
    return `custom error ${data.slice(0, SELECTOR_LENGTH)}`
  }
}

/** Bytes of at least a selector are an error that was passed on. */
function argumentOf(arg: unknown, depth: number): string {
  const isError = isHex(arg) && arg.length >= SELECTOR_LENGTH && arg.length % 64 === SELECTOR_LENGTH
  return isError && depth > 0 ? wordsOf(arg, depth) : String(arg)
}
