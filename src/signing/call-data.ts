import { encodeAbiParameters, encodeFunctionData, keccak256, parseAbi, toHex } from 'viem/utils'
import type { Address, Hex } from '../domain/money/units.ts'
import { type AccountCall, PROPOSER_DOMAIN } from '../domain/order/call.ts'
import type { GasTankMethods } from '../domain/settings.ts'

const text = (value: string): Hex => keccak256(toHex(value))

let made: ReturnType<typeof makeHashes> | undefined
/** Made with the first call, because they take some milliseconds of a start, and most daemons sign no call. */
function makeHashes() {
  return {
    domainType: text(
      'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
    ),
    callType: text(
      'Call(uint256 deadline,uint256 nonce,address target,uint256 value,bytes calldata,uint256 gasLimit)',
    ),
    name: text(PROPOSER_DOMAIN.name),
    version: text(PROPOSER_DOMAIN.version),
  }
}

/** The 32-byte digest that the owner signs. */
export function hashCall(call: AccountCall): Hex {
  made ??= makeHashes()
  const domain = keccak256(
    encodeAbiParameters(
      [
        { type: 'bytes32' },
        { type: 'bytes32' },
        { type: 'bytes32' },
        { type: 'uint256' },
        { type: 'address' },
      ],
      [made.domainType, made.name, made.version, BigInt(call.chainId), call.verifyingContract],
    ),
  )
  const struct = keccak256(
    encodeAbiParameters(
      [
        { type: 'bytes32' },
        { type: 'uint256' },
        { type: 'uint256' },
        { type: 'address' },
        { type: 'uint256' },
        { type: 'bytes32' },
        { type: 'uint256' },
      ],
      [
        made.callType,
        BigInt(call.deadlineSeconds),
        call.nonce,
        call.target,
        call.value,
        keccak256(call.calldata),
        call.gasLimit,
      ],
    ),
  )
  return keccak256(`0x1901${domain.slice(2)}${struct.slice(2)}`)
}

const PROPOSER_ABI = parseAbi([
  'function onCall(address _target, bytes _data, uint256 _value) returns (bool)',
])

export function encodeSignedCall(call: AccountCall, signature: Hex): Hex {
  const payload = encodeAbiParameters(
    [
      { type: 'bytes' },
      { type: 'uint256' },
      { type: 'uint256' },
      { type: 'bytes' },
      { type: 'uint256' },
    ],
    [signature, BigInt(call.deadlineSeconds), call.nonce, call.calldata, call.gasLimit],
  )
  return encodeOnCall(call.target, payload, call.value)
}

/**
 * Identifies a signed call in a transaction's input: the payload words before the signature, with deadline, nonce and gas
 * limit. Each word has 32 bytes; offsets assume a signature of 65 bytes.
 */
export function callMark({ deadlineSeconds, nonce, gasLimit }: AccountCall): Hex {
  const words = [160n, BigInt(deadlineSeconds), nonce, 288n, gasLimit]
  return `0x${words.map((word) => word.toString(16).padStart(64, '0')).join('')}`
}

export function encodeOnCall(target: Address, payload: Hex, value: bigint): Hex {
  return encodeFunctionData({
    abi: PROPOSER_ABI,
    functionName: 'onCall',
    args: [target, payload, value],
  })
}

const GAS_TANK_ABI = {
  balances: parseAbi(['function deposit(address account) payable']),
  balanceOf: parseAbi(['function deposit() payable']),
} as const

/** Calldata of a wallet's deposit for its own account; the amount is the transaction's value. */
export function encodeDeposit(methods: GasTankMethods, account: Address): Hex {
  return methods === 'balances'
    ? encodeFunctionData({ abi: GAS_TANK_ABI.balances, args: [account] })
    : encodeFunctionData({ abi: GAS_TANK_ABI.balanceOf })
}
