//! Wire form of requests and replies: values with a canonical encoding as its bytes, numbers as numbers. Decoded values are checked as
//! by each type's own `from_bytes`.

use crate::quorum::{Parts, Seat, SeatJob, SeatKey};
use crate::{
    BlindedCiphertext, BlindedTemplate, Decisions, EncryptedProbes, EncryptedTemplate, KeyStructure, Lane,
    LaneSet, MatchJob, ProbeJob, PublicKey, Width,
};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

macro_rules! by_its_bytes {
    ($($type:ident, $bytes:ident, $name:literal;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&self.$bytes())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let read = $type::from_bytes(<&[u8]>::deserialize(deserializer)?);
                read.map_err(|cause| D::Error::custom(format_args!("{}: {cause}", $name)))
            }
        }
    )*};
}

by_its_bytes! {
    MatchJob, to_bytes, "a batch";
    SeatJob, to_bytes, "a seat's batch";
    ProbeJob, to_bytes, "a batch of sealed probes";
    BlindedTemplate, to_bytes, "a blinded template";
    BlindedCiphertext, as_bytes, "a blinded ciphertext";
    PublicKey, to_bytes, "a public key";
    SeatKey, to_bytes, "a seat's key";
    EncryptedProbes, to_bytes, "encrypted probes";
    EncryptedTemplate, to_bytes, "an encrypted template";
}

macro_rules! by_a_number {
    ($($type:ident as $number:ident, $write:expr, $read:expr, $name:literal;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let write: fn(&$type) -> $number = $write;
                write(self).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let read: fn($number) -> Option<$type> = $read;
                let number = $number::deserialize(deserializer)?;
                read(number).ok_or_else(|| D::Error::custom(format_args!("{} {number} does not exist", $name)))
            }
        }
    )*};
}

by_a_number! {
    Lane as u8, |lane| lane.index() as u8, Lane::new, "lane";
    KeyStructure as u8, |keys| keys.code(), KeyStructure::from_code, "key structure";
    LaneSet as u32, |lanes| lanes.bits(), |bits| Some(LaneSet::from_bits(bits)), "set of lanes";
    Decisions as u32, |all| all.lanes().bits(), |bits| Some(Decisions::from_lanes(LaneSet::from_bits(bits))), "decisions";
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Parts, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        Parts::from_bytes(bytes).ok_or_else(|| D::Error::custom("these are no parts of a batch"))
    }
}

/// For fields: a seat is a type of `trefoil-bfv`, which has no wire form.
pub(crate) mod seat {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(seat: &Seat, serializer: S) -> Result<S::Ok, S::Error> {
        (seat.index() as u8).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Seat, D::Error> {
        let index = u8::deserialize(deserializer)?;
        Seat::new(usize::from(index))
            .ok_or_else(|| D::Error::custom(format_args!("seat {index} does not exist")))
    }
}

/// For fields, as [`seat`]: what devices make.
macro_rules! of_devices {
    ($($module:ident, $type:ty, $bytes:ident, $read:expr;)*) => {$(
        pub(crate) mod $module {
            use super::*;

            pub(crate) fn serialize<S: Serializer>(value: &$type, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&value.$bytes()[..])
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let read: fn(&[u8]) -> Option<$type> = $read;
                let bytes = <&[u8]>::deserialize(deserializer)?;
                read(bytes).ok_or_else(|| D::Error::custom("this was sealed by no device"))
            }
        }
    )*};
}

of_devices! {
    sealed_share, crate::SealedShare, as_bytes, |bytes| {
        Width::ALL.into_iter().find_map(|width| crate::SealedShare::from_bytes(width, bytes))
    };
    sealing_key, Box<crate::SealingKey>, to_bytes, |bytes| crate::SealingKey::from_bytes(bytes).ok().map(Box::new);
}
