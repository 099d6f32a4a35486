// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice Code for an account that signs every call. The code runs as the account (EIP-7702), so the required signer is
/// `address(this)`.
contract TrustlessProposer {
    /// @custom:storage-location erc7201:tranched.sandbox.TrustlessProposer
    struct ProposerStorage {
        uint256 nestedNonce;
    }

    /// @dev ERC-7201 slot of the namespace above. Other code of the account, earlier or later, avoids this slot, so the
    /// nonce survives it.
    bytes32 public constant STORAGE_SLOT =
        keccak256(abi.encode(uint256(keccak256("tranched.sandbox.TrustlessProposer")) - 1)) & ~bytes32(uint256(0xff));

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant CALL_TYPEHASH = keccak256(
        "Call(uint256 deadline,uint256 nonce,address target,uint256 value,bytes calldata,uint256 gasLimit)"
    );
    string private constant NAME = "TrustlessProposer";
    string private constant VERSION = "1";
    /// @dev Half of the curve's order. A signature above it is the mirror image of one below.
    uint256 private constant S_MAX = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    /// @dev Maximum cost of the call instruction itself: a cold account, a value, and an account that did not exist.
    uint256 private constant CALL_COST_MAX = 40_000;

    address public immutable multicall;
    /// @dev Zero if the domain names the account itself.
    address private immutable domainContract;
    /// @dev Whether a signed gasLimit covers all of `onCall`, or only the call to the target.
    bool private immutable limitsWhole;

    error OnlyMulticallOrSelf(address caller);
    error DeadlinePassed(uint256 deadline);
    error WrongNonce(uint256 nonce, uint256 expected);
    error WrongSigner(address signer);
    error NotEnoughGas(uint256 available, uint256 gasLimit);
    error GasLimitExceeded();

    /// @param proposerInDomain whether the EIP-712 verifyingContract is this contract, or the delegated account
    /// @param limitsWhole_ whether a signed gasLimit covers all of `onCall`, or only the call to the target
    constructor(address multicall_, bool proposerInDomain, bool limitsWhole_) {
        multicall = multicall_;
        domainContract = proposerInDomain ? address(this) : address(0);
        limitsWhole = limitsWhole_;
    }

    /// @dev An account with code must accept plain transfers, as it did without code.
    receive() external payable {}

    function nestedNonce() external view returns (uint256) {
        return _storage().nestedNonce;
    }

    /// @notice ERC-5267
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        )
    {
        return (hex"0f", NAME, VERSION, block.chainid, _verifyingContract(), bytes32(0), new uint256[](0));
    }

    /// @param _data abi.encode(bytes signature, uint256 deadline, uint256 nonce, bytes calldata, uint256 gasLimit)
    function onCall(address _target, bytes calldata _data, uint256 _value) external returns (bool) {
        uint256 gasBefore = gasleft();
        if (msg.sender != multicall && msg.sender != address(this)) revert OnlyMulticallOrSelf(msg.sender);
        (bytes memory signature, uint256 deadline, uint256 nonce, bytes memory callData, uint256 gasLimit) =
            abi.decode(_data, (bytes, uint256, uint256, bytes, uint256));
        if (block.timestamp > deadline) revert DeadlinePassed(deadline);
        ProposerStorage storage state = _storage();
        if (nonce != state.nestedNonce) revert WrongNonce(nonce, state.nestedNonce);
        bytes32 structHash = keccak256(
            abi.encode(CALL_TYPEHASH, deadline, nonce, _target, _value, keccak256(callData), gasLimit)
        );
        address signer = _recover(keccak256(abi.encodePacked(hex"1901", _domainSeparator(), structHash)), signature);
        if (signer != address(this)) revert WrongSigner(signer);
        state.nestedNonce = nonce + 1;
        _forward(_target, callData, _value, limitsWhole ? gasleft() : _guaranteed(gasLimit));
        // The multicall checks this too, but an account's call to itself does not pass through the multicall.
        if (limitsWhole && gasBefore - gasleft() > gasLimit) revert GasLimitExceeded();
        return true;
    }

    /// @dev Returns the limit, or reverts if the target cannot get that much gas.
    function _guaranteed(uint256 gasLimit) private view returns (uint256) {
        // The EVM forwards at most 63/64 of the remaining gas, and does not fail when that is less than requested.
        uint256 left = gasleft();
        uint256 available = left < CALL_COST_MAX ? 0 : (left - CALL_COST_MAX) * 63 / 64;
        if (available < gasLimit) revert NotEnoughGas(available, gasLimit);
        return gasLimit;
    }

    function _forward(address target, bytes memory callData, uint256 value, uint256 gasMax) private {
        (bool success, bytes memory answer) = target.call{value: value, gas: gasMax}(callData);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
    }

    function _recover(bytes32 digest, bytes memory signature) private pure returns (address) {
        if (signature.length != 65) return address(0);
        (bytes32 r, bytes32 s, uint8 v) = (bytes32(0), bytes32(0), 0);
        assembly ("memory-safe") {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
            v := byte(0, mload(add(signature, 96)))
        }
        return uint256(s) > S_MAX ? address(0) : ecrecover(digest, v, r, s);
    }

    function _domainSeparator() private view returns (bytes32) {
        return keccak256(
            abi.encode(
                DOMAIN_TYPEHASH,
                keccak256(bytes(NAME)),
                keccak256(bytes(VERSION)),
                block.chainid,
                _verifyingContract()
            )
        );
    }

    function _verifyingContract() private view returns (address) {
        return domainContract == address(0) ? address(this) : domainContract;
    }

    function _storage() private pure returns (ProposerStorage storage state) {
        bytes32 slot = STORAGE_SLOT;
        assembly ("memory-safe") {
            state.slot := slot
        }
    }
}
